"""Run a study with people: they play occupants, or each other, in a browser; then export and analyse it.

Events are stored in output_dir one by one, so that an interrupted study continues: docs/STUDY.md.

examples:
  dond study power                 # how many participants
  dond study serve                 # with configs/study.yaml: prints the address to open
  dond study export runs/study     # files without names, and which completion codes are its own
  dond study analyse runs/study    # the table
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Literal

import click
from rich.markdown import Markdown

from dond.cli.shell import (
    FILE,
    SEED,
    Command,
    Group,
    Number,
    config_option,
    integer,
    output_console,
    print_line,
    set_option,
)
from dond.web.server import HOST, free_port, is_loopback
from dond_marl.errors import InputError
from dond_marl.files import read_text, refuse_link

PASSWORD = "DOND_STUDY_PASSWORD"  # noqa: S105  # the name of an environment variable
STOPPED = "the study is closed; everything that was done is stored, and the same command continues it"
POSITIVE = Number(float, lambda number: 0 < number <= 10, "a number of points above 0, up to 10")
SHARE = Number(float, lambda number: 0 <= number < 1, "a number of at least 0, below 1")
INSIDE = Number(float, lambda number: 0.5 < number < 1, "a number between 0.5 and 1")
ICC = (0.0, 0.1, 0.3)
STUDY_CONFIG = config_option("study.yaml", default="configs/study.yaml", help="a YAML file (study.yaml)")


@click.command("serve", cls=Command, interrupted=STOPPED)
@STUDY_CONFIG
@set_option
@click.option("--port", type=integer(0, 65535), metavar="N", help="0 for any free port (8080 if it is free, else any)")
@click.option("--host", default=HOST, metavar="ADDRESS", help=f"address to serve ({HOST}: from this machine alone)")
def serve(config_path: Path, overrides: tuple[str, ...], port: int | None, host: str) -> None:
    """Serve a study to participants: consent, instructions and check, games, questionnaire, completion code.

    It is reached from this machine alone, by every user who is logged in here. With --host others reach it: then it
    requires a password, taken from DOND_STUDY_PASSWORD or typed, and all texts must have been written. There is no
    TLS: everything is readable on the network between, the password and the cookies too, unless a proxy or a tunnel
    encrypts it. The same command continues a study that was stopped; an act is on disk before it is answered.

    examples:
      dond study serve                               # with configs/study.yaml
      dond study serve --config configs/study.yaml --set output_dir=runs/pilot --port 9000
      dond study serve --config configs/study.yaml --host 0.0.0.0
    """
    from dond.study.pages import serve_study
    from dond.study.settings import StudyConfig
    from league.settings.read import load_config

    config = load_config(config_path, overrides, StudyConfig)
    alone = is_loopback(host)
    password = os.environ.get(PASSWORD)
    if password is None and not alone and not config.templates_left:
        if not sys.stdin.isatty():
            raise InputError(
                f"with --host the study needs a password: put one into {PASSWORD}, or start it in a terminal"
            )
        password = str(click.prompt("password of the study", hide_input=True, confirmation_prompt=True))
    serve_study(config, host, free_port(port, host), password, print_line)


@click.command("export", cls=Command)
@click.argument("folder", type=FILE, metavar="DIR")
@click.option("--to", "target", type=FILE, metavar="FOLDER", help="folder of the files (export in DIR)")
@click.option("--seed", type=SEED, default=0, metavar="N", help="of the participants' new numbers (0)")
@click.option("--codes", type=FILE, metavar="FILE", help="check these codes, one a line")
def export(folder: Path, target: Path | None, seed: int, codes: Path | None) -> None:
    """Write files of a study without names, addresses, dates and free text: CSV, JSON lines and a codebook.

    Participants get new numbers, drawn by the seed; those who stopped are left out. The study may be running.
    With --codes no file is written: each line of that file is checked to be a completion code of this study. The codes
    themselves are nowhere on disk, only their SHA-256.

    examples:
      dond study export runs/study
      dond study export runs/study --to shared/study --seed 7
      dond study export runs/study --codes handed_in.txt
    """
    from dond.study.export import export_study
    from dond.study.progress import open_study

    if codes is not None:
        _check_codes(folder, codes)
        return
    target = target or folder / "export"
    refuse_link(target)  # in a study of another person it may lead anywhere
    for name, rows in export_study(open_study(folder), target, seed).items():
        print_line(f"{target / name}: {rows} rows")
    print_line(f"{target / 'codebook.md'}: meaning of the columns")


def _check_codes(folder: Path, codes: Path) -> None:
    from dond.study.journal import read_journal
    from dond.study.running_study import digest

    digests = {event.data.get("code") for event in read_journal(folder) if event.kind == "answered"}
    try:
        handed_in = read_text(codes).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise InputError(f"{codes}: is no UTF-8 text; give a code a line") from None
    except OSError as error:
        raise InputError(f"{codes}: cannot be read ({error.strerror}); name a file with a code a line") from None
    lines = [line.strip().upper() for line in handed_in.splitlines() if line.strip()]
    if not lines:
        raise InputError("no code was handed in: give a code a line")
    for code, times in Counter(lines).items():
        again = f", handed in {times} times" if times > 1 else ""
        print_line(f"{code}: {'given out here' if digest(code) in digests else 'not given out here'}{again}")


@click.command("analyse", cls=Command)
@click.argument("folder", type=FILE, metavar="DIR")
def analyse(folder: Path) -> None:
    """Print the table of Li et al. 2023 for a study or its export: points to human, agent, joint, Nash product.

    Every figure has a 95 % interval over clusters of participants with common games; points of ten.

    examples:
      dond study analyse runs/study
      dond study analyse shared/study     # an export's folder
    """
    from dond.study.analysis import analysis_table, finished_games, read_games, summarise
    from dond.study.export import anonymise
    from dond.study.journal import is_study
    from dond.study.progress import open_study

    games = finished_games(anonymise(open_study(folder), 0)) if is_study(folder) else read_games(folder)
    if not games:
        raise InputError(f"{folder} holds no finished game yet")
    output_console().print(Markdown(analysis_table(summarise(games))))
    print_line("Points of ten; 95 % intervals over clusters; the Nash product is that of the means (docs/STUDY.md).")


@click.command("power", cls=Command)
@click.option("--difference", type=POSITIVE, default=0.3, metavar="X", help="difference in points of ten (0.3)")
@click.option(
    "--games", type=integer(1, 100), default=5, metavar="N", help="games of a participant in each condition (5)"
)
@click.option(
    "--icc", type=SHARE, multiple=True, metavar="X", help="correlation of a participant's games (0, 0.1, 0.3)"
)
@click.option("--power", type=INSIDE, default=0.8, metavar="P", help="probability to detect the difference (0.8)")
@click.option("--confidence", type=INSIDE, default=0.95, metavar="P", help="confidence of the two-sided test (0.95)")
@click.option(
    "--design",
    type=click.Choice(("between", "within")),
    default="between",
    help="whether each participant has one condition or all (between)",
)
@click.option("--sd", type=POSITIVE, metavar="X", help="standard deviation of one game's points (that of people)")
def power(
    difference: float,
    games: int,
    icc: tuple[float, ...],
    power: float,
    confidence: float,
    design: Literal["between", "within"],
    sd: float | None,
) -> None:
    """Print how many participants a study needs to detect a difference of two conditions, by formula.

    The standard deviation of points is that of people in the published dialogues (Lewis et al. 2017), or --sd. The
    correlation of a participant's games (--icc) is not in the published data, which do not identify people: use a
    pilot's, or plan for several.

    examples:
      dond study power                                  # 0.3 points, 5 games, two-sided 95 %, power 80 %
      dond study power --difference 0.5 --games 10 --icc 0.2
      dond study power --sd 3.1 --design within
    """
    from dond.study.analysis import PowerQuestion, sample_size, sd_of_people

    points, origin = (sd_of_people(), "of people in the published dialogues") if sd is None else (sd, "given")
    count = "n in each condition" if design == "between" else "n in all"
    rows = [f"| icc | {count} |", "|---|---|"]
    for correlation in icc or ICC:
        n = sample_size(PowerQuestion(difference, games, correlation, power, confidence, design), points)
        rows.append(f"| {correlation:g} | {n:,} |")
    print_line(
        f"To detect {difference:g} points of ten between two conditions ({design} participants, {games} games in each, "
        f"two-sided {confidence:.0%}, power {power:.0%}); standard deviation of a game {points:.2f}, {origin}."
    )
    output_console().print(Markdown("\n".join(rows)))


LEAVES = {"serve": serve, "export": export, "analyse": analyse, "power": power}
command = Group("study", help=__doc__, commands=LEAVES)
