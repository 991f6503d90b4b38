"""The shipped expert: the weights of a training run, with scores and provenance in the note."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from dond_marl.occupants import seat_occupant
from league.evaluation.evaluate import scenarios_of
from league.evaluation.matches import Result, Terms, heldout_terms, score
from league.ledger.run_directory import SETTINGS, RunError, find_run
from league.ledger.trusted_names import read_settings
from league.settings.training import TrainConfig
from league.training.progress_log import CSV_NAME
from partners.network.checkpoint import load_checkpoint, network_note, save_checkpoint
from partners.network.occupants import EXPERT
from partners.network.partner import NetworkPartner
from partners.provenance import read_past, refuse_test_roster
from partners.rosters import DEV, TRAIN, roster

SEED = 0  # of the games that score it
HOW = (
    "points of ten on the scenarios of 'lewis' with a held-out view (split test), each played in both "
    "seats, 95 % interval over scenarios; opponents: the rosters train (used in training) and dev (not used)"
)


def ship_expert(run: Path, target: Path = EXPERT, sample: int | None = None) -> dict[str, Any]:
    """Write the newest checkpoint of ``run`` as the expert; returns the provenance, settings and scores in its note.

    ``sample``: number of held-out scenarios for the scores, by default all. Raises
    :class:`RunError`, and :class:`partners.provenance.ProvenanceError` if it was trained against a held-out roster.
    """
    folder = find_run(run, SETTINGS).path
    checkpoints = sorted((folder / "checkpoints").glob("step_*.json"))
    if not checkpoints:
        raise RunError(f"{folder} holds no checkpoint; train first: dond train --config configs/expert.yaml")
    checkpoint = load_checkpoint(checkpoints[-1])
    network, past = checkpoint.network(), read_past(checkpoint.about)
    refuse_test_roster(past, "the expert")
    terms = heldout_terms(seed=SEED)
    terms = terms._replace(scenarios=scenarios_of(terms.source, sample, SEED))
    scores = {play: _scores(network, terms, greedy=play == "greedy") for play in ("greedy", "sampled")}
    config = read_settings(folder, TrainConfig)
    card = {
        **past.note(),
        "trained": {
            "settings": config.model_dump(mode="json", exclude={"logging"}),
            **checkpoint.about["counters"],
            "seconds": _seconds(folder / CSV_NAME),
        },
        "scores": {"how": HOW, **scores},
    }
    weights = {name: value for name, value in checkpoint.tensors.items() if name.startswith("network.")}
    save_checkpoint(target, weights, {**network_note(network), **card})
    return card


def _scores(network: Any, terms: Terms, *, greedy: bool) -> dict[str, dict[str, float | int]]:
    """Scores against the members of the rosters train and dev and against itself, by name."""
    expert = NetworkPartner(network, greedy=greedy)
    opponents = {**{name: seat_occupant(name) for name in (*roster(TRAIN), *roster(DEV))}, "itself": expert}
    return {name: _round_figures(score(expert, opponent, terms)) for name, opponent in opponents.items()}


def _round_figures(result: Result) -> dict[str, float | int]:
    points = result.points
    return {
        "points": round(points.mean, 3),
        "low": round(points.low, 3),
        "high": round(points.high, 3),
        "n": points.n,
        "as_seat_0": round(result.as_seat[0].mean, 3),
        "as_seat_1": round(result.as_seat[1].mean, 3),
        "deals": round(result.deals, 4),
        "turns": round(result.turns, 2),
    }


def _seconds(path: Path) -> float | None:
    """The duration of the training by its log; ``None`` without a log or after an interruption."""
    if not path.is_file():
        return None
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    seconds = [float(row["seconds"]) for row in rows]
    return round(seconds[-1]) if seconds and seconds == sorted(seconds) else None
