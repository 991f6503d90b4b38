"""Make a member of a league the shipped expert: its weights, with scores and provenance in the note.

examples:
  python -m experiments expert --run runs/expert
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import yaml

from dond.cli.shell import FILE, Command, print_line
from dond_marl.occupants import seat_occupant
from league.evaluation.matches import PlayerLine, Terms, heldout_terms, score
from league.ledger.export import read_member
from league.ledger.ledger import ReadLedger
from league.ledger.run_directory import LEDGER, find_run
from partners.network.checkpoint import Weights, network_note, save_checkpoint
from partners.network.checkpoint_files import CheckpointError
from partners.network.occupants import EXPERT
from partners.network.partner import NetworkPartner
from partners.provenance import read_past, refuse_test_roster
from partners.rosters import DEV, TRAIN, roster

SEED = 0  # of the games that score it
HOW = (
    "points of ten on the scenarios of 'lewis' with a held-out view (split test), each played in both "
    "seats, 95 % interval over scenarios; opponents: the rosters train (used in training) and dev (not used)"
)


def ship_expert(run: Path, member: str, target: Path) -> dict[str, Any]:
    """Write a learner or snapshot of the league in ``run`` as the expert; returns the note with provenance and scores.

    Raises what :func:`read_member` raises, and :class:`partners.provenance.ProvenanceError` if it was trained against a
    held-out roster.
    """
    folder = find_run(run).path
    tensors, about = read_member(folder, member)
    network, past = Weights(tensors, about, str(folder)).network(), read_past(about)
    refuse_test_roster(past, "the expert")
    terms = heldout_terms(seed=SEED)
    scores = {play: _scores(network, terms, greedy=play == "greedy") for play in ("greedy", "sampled")}
    card = {**past.note(), "trained": _training(folder, member), "scores": {"how": HOW, **scores}}
    save_checkpoint(target, tensors, {**network_note(network), **card})
    return card


def _training(folder: Path, member: str) -> dict[str, Any]:
    """The training of a learner: the settings of the league, and the learner's own decisions."""
    with ReadLedger(folder / LEDGER) as ledger, ledger.snapshot():
        settings, states = yaml.safe_load(ledger.settings()), ledger.states()
    settings = {key: value for key, value in settings.items() if key not in ("logging", "backend")}
    state = states.get(member)
    counters = {} if state is None else {"decisions": state.decisions, "games": state.games, "updates": state.updates}
    return {"settings": settings, **counters}


def _scores(network: Any, terms: Terms, *, greedy: bool) -> dict[str, dict[str, float | int]]:
    """Scores against the members of the rosters train and dev and against itself, by name."""
    expert = NetworkPartner(network, greedy=greedy)
    opponents = {**{spec.text: seat_occupant(spec) for spec in (*roster(TRAIN), *roster(DEV))}, "itself": expert}
    return {name: _round_figures(score(expert, opponent, terms)) for name, opponent in opponents.items()}


def _round_figures(result: PlayerLine) -> dict[str, float | int]:
    points, (both, first, second) = result.points, result.figures.values()
    means = {"points": points.mean, "low": points.low, "high": points.high}
    seats = {"as_seat_0": round(first.points.mean, 3), "as_seat_1": round(second.points.mean, 3)}
    figures = {"deals": round(both.deals.mean, 4), "turns": round(both.turns.mean, 2)}
    return {**{name: round(mean, 3) for name, mean in means.items()}, "n": points.n, **seats, **figures}


@click.command(cls=Command, help=__doc__, run_errors=(CheckpointError,))
@click.option(
    "--run", type=FILE, required=True, metavar="FOLDER", help="a league's folder, or the newest of those in it"
)
@click.option("--member", metavar="NAME", default="main", help="a learner or snapshot of it (main)")
@click.option("--out", type=FILE, default=EXPERT, metavar="FILE", help="where to write it (the package)")
def command(run: Path, member: str, out: Path) -> None:
    """Write the expert and print its scores."""
    card = ship_expert(run, member, out)
    for name, figures in card["scores"]["greedy"].items():
        interval = f"[{figures['low']:.2f}, {figures['high']:.2f}]"
        print_line(f"{name:24} {figures['points']:5.2f} {interval}  {figures['deals']:.1%} deals")
    print_line(f"written: {out}")
