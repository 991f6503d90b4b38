r"""Measure how well a member does against a partner, and how close that is to the exact best response.

With --run, measure a league's main members against its held-out members and against themselves, and their
exploitability.

examples:
  dond evaluate --member expert --against heuristic
  dond evaluate --member "checkpoint(path='FILE.json')" \
      --against "boulware(exponent=2)" --max-turns 6
  dond evaluate --member heuristic --against expert --json e.json --csv e.csv
  dond evaluate --member expert --against linear \
      --scenarios self_play --data-dir FOLDER --sample 1000
  dond evaluate --member expert --against heuristic --details --plot plane.png
  dond evaluate --member stubborn --against boulware --probe   # what could be gained
  dond evaluate --member "llm(provider=hf)" --against heuristic --sample 20 --diagnose
  dond evaluate --run runs/league                              # a league's main members
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dond_marl.dialogues.human_line import stored_human_line
from dond_marl.errors import InputError, RunFailure
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import SOURCES, open_source
from dond_marl.yardsticks.efficiency import ImpossibleScore
from league.cli.shell import (
    FILE,
    MAX_TURNS,
    SEED,
    SOURCES_SAID,
    SPLITS_SAID,
    Command,
    Number,
    WritableFile,
    console_for_people,
    say,
    say_next,
    whole,
)
from league.display.evaluation import diagnosis_section, final_in_short, print_evaluation, print_final, print_probe
from league.display.plane import check_drawable, draw
from league.display.tables import print_in_short, print_section
from league.evaluation import diagnosis
from league.evaluation.as_json import final_document, final_rows, refused_document, write_pair, write_pair_table
from league.evaluation.evaluate import HELDOUT, evaluate, human_figures
from league.evaluation.exploitability import probe as probe_pair
from league.evaluation.matches import UnreachedError
from league.evaluation.of_run import evaluate_run
from league.ledger.run_directory import find_run
from league.standings.as_csv import write_csv, write_json
from partners.equilibrium import check_game
from partners.provenance import ancestry, confirm_opponents_unseen, identity, label

MOST = 1_000_000  # scenarios in one evaluation
CONFIDENCE = Number(float, lambda share: 0.5 <= share < 1, "in 0.5 to less than 1, such as 0.95")
OF_PAIRS = (
    "member",
    "against",
    "scenarios",
    "split",
    "data_dir",
    "max_turns",
    "disagree",
    "seed",
    "probe",
    "details",
    "plot",
    "diagnose",
    "beliefs",
)


@click.command(cls=Command, help=__doc__, interrupted="what is finished is written, and nothing else")
@click.option(
    "--member", metavar="OCCUPANT", help="whom to measure: a name of dond catalogue, or name(parameter=value)"
)
@click.option("--against", metavar="OCCUPANT", help="its partner, in all games")
@click.option(
    "--run", type=FILE, metavar="FOLDER", help="instead: a league's folder, or a folder of leagues for the newest"
)
@click.option("--sampling", is_flag=True, help="with --run: networks sample their acts, as in training")
@click.option(
    "--scenarios",
    type=click.Choice(SOURCES),
    help=f"{SOURCES_SAID} (lewis; of a run: its own)",
)
@click.option(
    "--split",
    metavar="NAME",
    help=f"{SPLITS_SAID} (test)",
)
@click.option("--data-dir", type=FILE, metavar="FOLDER", help="folder of the published files (data)")
@click.option("--sample", type=whole(1, MOST), metavar="N", help="play N of its scenarios (all; 1000 of uniform)")
@click.option(
    "--max-turns", type=MAX_TURNS, metavar="N", help="most acts of both seats together (10; of a run: its own)"
)
@click.option(
    "--disagree",
    type=click.Choice(["ends", "rejects"]),
    help="whether DISAGREE ends or only rejects (ends; of a run: its own)",
)
@click.option("--seed", type=SEED, metavar="N", help="random seed (0; of a run: derived from its own)")
@click.option("--confidence", type=CONFIDENCE, default=0.95, metavar="P", help="how sure the intervals are (0.95)")
@click.option("--probe", is_flag=True, help="also what could be gained: by answering better, or by knowing more")
@click.option("--details", is_flag=True, help="also print every figure, and people's and theory's beside them")
@click.option("--diagnose", is_flag=True, help="also what each act loses, demands, tokens, a second copy's luck")
@click.option("--beliefs", is_flag=True, help="also ask a language model what its partner wants (more requests)")
@click.option("--json", type=WritableFile(), metavar="FILE", help="every figure, its unit and interval")
@click.option("--csv", type=WritableFile(), metavar="FILE", help="the same, a row per figure")
@click.option("--plot", type=WritableFile(), metavar="FILE", help="the bargaining plane, as .png, .svg or .pdf")
@click.pass_context
def command(context: click.Context, /, run: Path | None, sampling: bool, **options: Any) -> None:
    """Evaluate a pair, or the main members of a league, and write what was asked for."""
    if run is not None:
        foreign = [f"--{name.replace('_', '-')}" for name in OF_PAIRS if options[name]]
        if foreign:
            raise InputError(f"--run evaluates a league under its own settings; leave out {', '.join(foreign)}")
        _league(run, sampling, options["sample"], options["confidence"], options["json"], options["csv"])
    elif sampling:
        raise InputError("--sampling is for --run; of a single member say checkpoint(path=..., greedy=False)")
    elif options["member"] is None or options["against"] is None:
        raise InputError("--member and --against say who plays whom; or --run DIR evaluates a league's main members")
    else:
        _pair(**options)
    for path in (options["json"], options["csv"], options["plot"]):
        if path is not None:
            say(f"written: {path}")
    if run is not None:
        say_next(context, "report", "--run", run)
    else:
        say_next(context, "play", "--partner", options["member"])


def _league(
    run: Path, sampling: bool, sample: int | None, confidence: float, json: Path | None, csv: Path | None
) -> None:
    console = console_for_people()
    with console.status("") as status:  # shown on a terminal only
        final = evaluate_run(find_run(run), sampling=sampling, confidence=confidence, sample=sample, tell=status.update)
    print_in_short(console, final_in_short(final))
    print_final(console, final)
    if json is not None:
        write_json(json, final_document(final))
    if csv is not None:
        write_csv(csv, final_rows(final))


def _pair(
    member: str,
    against: str,
    scenarios: str | None,
    split: str | None,
    data_dir: Path | None,
    sample: int | None,
    max_turns: int | None,
    disagree: Any,  # "ends", "rejects" or None
    seed: int | None,
    confidence: float,
    probe: bool,
    diagnose: bool,
    beliefs: bool,
    details: bool,
    json: Path | None,
    csv: Path | None,
    plot: Path | None,
) -> None:
    if plot is not None:
        check_drawable(plot)
    rules = Rules(max_turns or Rules().max_turns, disagree or Rules().disagree)
    name = scenarios or "lewis"
    source = open_source(name, split=split or HELDOUT.get(name), data_dir=data_dir)
    player = seat_occupant(member)
    check_game([player, seat_occupant(against)], rules, source)
    confirm_opponents_unseen([against], ancestry(member), label(identity(member)))
    console, human = console_for_people(), stored_human_line()
    try:
        with console.status("") as status:  # shown on a terminal only
            evaluation = evaluate(
                member, against, source, rules, sample=sample, seed=seed or 0, confidence=confidence,
                tell=status.update, player=player,
            )  # fmt: skip
    except UnreachedError as error:
        if json is not None:
            write_json(json, refused_document(member, against, error))
        raise
    except ImpossibleScore as error:
        raise RunFailure(f"a bug of the game or of the measure: {error}") from error
    print_evaluation(console, evaluation, human, details=details)
    if not details:
        say("--details prints every figure: fairness, efficiency, and the same of people and of the best splits")
    if json is not None:  # what is finished stays, whatever becomes of what follows
        write_pair(json, evaluation, human)
    if csv is not None:
        write_pair_table(csv, evaluation, human)
    if plot is not None:
        draw(plot, evaluation, human_figures(human))
    gains = None
    if probe:
        with console.status("what could be gained"):
            gains = probe_pair(member, against, source, rules)
        print_probe(console, gains)
        if json is not None:
            write_pair(json, evaluation, human, gains)
    if diagnose or beliefs:
        with console.status("") as status:
            diagnosed = diagnosis.diagnose(
                member, against, source, evaluation.scenarios, rules,
                seed=seed or 0, confidence=confidence, beliefs=beliefs, tell=status.update,
                player=player if player.traits.remote else None,  # whose limits hold for all of it
            )  # fmt: skip
        print_section(console, diagnosis_section(diagnosed))
        if json is not None:
            write_pair(json, evaluation, human, gains, diagnosed)
