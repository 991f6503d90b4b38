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
  dond evaluate --member stubborn --against boulware --probe   # possible gains
  dond evaluate --member "llm(provider=hf)" --against heuristic --sample 20 --diagnose
  dond evaluate --run runs/league                              # a league's main members
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from dond.cli.shell import (
    FILE,
    SEED,
    Command,
    Number,
    WritableFile,
    game_options,
    integer,
    output_console,
    print_line,
    print_next,
    trust_option,
)
from dond.plane import check_drawable, draw
from dond.terminal.tables import print_section, print_sections
from dond_marl.dialogues.human_line import stored_human_line
from dond_marl.errors import InputError
from dond_marl.seats import expensive_to_query
from league.api import MOST_SAMPLE, Pair, check_pair, evaluate_league
from league.evaluation.evaluate import human_figures
from league.evaluation.matches import UnreachedError
from league.figures.rows import write_figures
from league.results.pair import (
    diagnosis_section,
    pair_figures,
    pair_sections,
    probe_section,
    refused_figures,
)
from league.tables.final import final_sections

CONFIDENCE = Number(float, lambda share: 0.5 <= share < 1, "in 0.5 to less than 1, such as 0.95")
TERMS = ("scenarios", "split", "data_dir", "max_turns", "disagree", "seed")  # of a pair; a league has its own
OF_PAIRS = ("member", "against", *TERMS, "probe", "details", "plot", "diagnose")


@click.command(cls=Command, help=__doc__, interrupted="what is finished is written, and nothing else")
@click.option(
    "--member",
    metavar="OCCUPANT",
    help="the policy to measure: a name of dond catalogue, name(parameter=value), or a run such as runs/ppo_fast",
)
@click.option("--against", metavar="OCCUPANT", help="its partner, in all games")
@click.option(
    "--run", type=FILE, metavar="FOLDER", help="instead: a league's folder, or a folder of leagues for the newest"
)
@click.option("--sampling", is_flag=True, help="with --run: networks sample their acts, as in training")
@game_options("test", "; of a run: its own")
@click.option("--sample", type=integer(1, MOST_SAMPLE), metavar="N", help="play N scenarios (all; 1000 of uniform)")
@click.option("--seed", type=SEED, metavar="N", help="random seed (0; of a run: derived from its own)")
@click.option("--confidence", type=CONFIDENCE, default=0.95, metavar="P", help="confidence of the intervals (0.95)")
@click.option(
    "--exact", is_flag=True, help="also query code of others beyond its games, as often as a best response takes"
)
@click.option("--probe", is_flag=True, help="also the gain of better responses, and of more information")
@click.option("--details", is_flag=True, help="also print every figure, with people's and theory's")
@click.option(
    "--diagnose", is_flag=True, help="also regret per act, offers, tokens, and a second run's noise (twice the queries)"
)
@click.option("--json", type=WritableFile(), metavar="FILE", help="every figure, its unit and interval")
@click.option("--csv", type=WritableFile(), metavar="FILE", help="the same, a row per figure")
@click.option("--plot", type=WritableFile(), metavar="FILE", help="the bargaining plane, as .png, .svg or .pdf")
@trust_option
def command(run: Path | None, sampling: bool, **options: Any) -> None:
    """Evaluate a pair, or the main members of a league, and write the requested files."""
    console = output_console()
    if run is not None:
        foreign = [f"--{name.replace('_', '-')}" for name in OF_PAIRS if options[name]]
        if foreign:
            raise InputError(f"--run evaluates a league under its own settings; leave out {', '.join(foreign)}")
        _evaluate_league(console, run, sampling, options)
    elif sampling:
        raise InputError("--sampling is for --run; for a single member: checkpoint(path=..., greedy=False)")
    elif options["member"] is None or options["against"] is None:
        raise InputError("--member and --against name a pair; or --run DIR evaluates a league's main members")
    else:
        if options["plot"] is not None:
            check_drawable(options["plot"])
        chosen = (*TERMS, "sample", "confidence", "exact", "trust")
        terms = {name: options[name] for name in chosen if options[name] is not None}
        pair = check_pair(options["member"], options["against"], **terms)
        _evaluate_pair(console, pair, options)
    for path in (options["json"], options["csv"], options["plot"]):
        if path is not None:
            print_line(f"written: {path}")
    if run is not None:
        print_next("report", "--run", run)
    else:
        print_next("play", "--partner", options["member"])


def _evaluate_league(console: Console, run: Path, sampling: bool, options: dict[str, Any]) -> None:
    with console.status("") as status:  # shown on a terminal only
        terms = {name: options[name] for name in ("confidence", "sample", "exact", "trust")}
        final = evaluate_league(run, sampling=sampling, report=status.update, **terms).evaluation
    print_sections(console, final_sections(final))
    write_figures(final, options["json"], options["csv"])


def _evaluate_pair(console: Console, pair: Pair, options: dict[str, Any]) -> None:
    """Evaluate step by step; every finished step is printed and written before the next."""
    human, json = stored_human_line(), options["json"]
    if options["diagnose"] and expensive_to_query(pair.player.traits):
        print_line(f"--diagnose plays the games once more: {options['member']} gets about twice as many queries")
    try:
        with console.status("") as status:  # shown on a terminal only
            evaluation = pair.evaluate(status.update)
    except UnreachedError as error:
        write_figures(refused_figures(options["member"], options["against"], error), json, None)
        raise
    print_sections(console, pair_sections(evaluation, human, details=options["details"]))
    if not options["details"]:
        print_line("--details prints every figure: fairness, efficiency, and the same of people and of the best splits")
    figures = pair_figures(evaluation, human)
    write_figures(figures, json, options["csv"])
    if options["plot"] is not None:
        draw(options["plot"], evaluation, human_figures(human))
    if options["probe"]:
        with console.status("possible gains"):
            gains = pair.probe()
        print_section(console, probe_section(gains))
        figures = replace(figures, rows=(*figures.rows, *gains.rows))
        write_figures(figures, json, options["csv"])
    if options["diagnose"]:
        with console.status("") as status:
            diagnosis = pair.diagnose(evaluation, report=status.update)
        print_section(console, diagnosis_section(diagnosis))
        write_figures(replace(figures, terms={**figures.terms, "diagnosis": diagnosis.document()}), json, None)
