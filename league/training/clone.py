"""The supervised expert: behaviour cloning from the published dialogues, measured and saved as a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dond_marl.dialogues.positions import Positions, choices, human_positions
from dond_marl.game import Rules
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.randomness import generator
from dond_marl.statistics import Estimate
from league.evaluation.evaluate import BOTH, evaluate
from league.evaluation.likeness import Accuracy, Likeness, accuracy, always, gain, likeliest, likeness, majority
from league.evaluation.matches import Scores, heldout_terms, scores
from league.figures.rows import plain_values
from league.play.provenance import training_ancestry
from league.settings.rosters import zoo
from league.settings.training import TrainConfig
from partners.learning.cloning import CloneSettings, Epoch, clone
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.network import PolicyNetwork
from partners.network.occupants import HUMAN_DIALOGUES, expert_path
from partners.network.partner import ClonedPartner

HEURISTIC = Spec("heuristic")  # the default partner, for comparison
SEED = 0  # of the games that measure it


class HumanPositions(NamedTuple):
    """Positions of people's dialogues: for training, for early stopping, and for measuring."""

    train: Positions
    val: Positions
    test: Positions


class CloneStrength(NamedTuple):
    """Scores of a clone on the held-out scenarios, where DISAGREE ends the game."""

    zoo: Scores
    shares: dict[str, Estimate]  # of points against the heuristic, by reference


class CloneReport(NamedTuple):
    """Likeness to people and strength of the expert, on data that it was not trained on."""

    likeness: Likeness
    majority: Accuracy  # of the majority-class baseline
    heuristic: Accuracy
    more_than_majority: tuple[Estimate, Estimate]  # gain in accuracy: everywhere, and in replies
    greedy: CloneStrength
    sampled: CloneStrength


def load_positions(config: TrainConfig) -> HumanPositions:
    """The positions of the dialogue files under the rules; those for training without held-out scenarios.

    Raises :class:`dond_marl.scenarios.data.DataError`.
    """
    rules, folder = config.env.rules(), config.env.data_dir
    train, val = (human_positions(split, rules, folder, trainable_only=True) for split in ("train", "val"))
    return HumanPositions(train, val, human_positions("test", rules, folder))


def train_clone(
    config: TrainConfig, positions: HumanPositions, report_progress: Callable[[Epoch], None] = lambda _: None
) -> tuple[PolicyNetwork, list[Epoch]]:
    """Clone people's play, a function of the settings and the data; ``report_progress`` is called after every epoch."""
    chosen = config.training
    torch.set_num_threads(chosen.threads)
    settings = CloneSettings(**{field.name: getattr(chosen, field.name) for field in fields(CloneSettings)})
    network = PolicyNetwork(chosen.shape(config.env, hints=False), seed=chosen.seed).to(chosen.device)
    epochs = []

    def order(epoch: int, size: int) -> NDArray[np.int64]:
        return generator(chosen.seed, "cloning", epoch).permutation(size)

    # A network with sorted items gives the same output for every order of items.
    train = positions.train if chosen.sorted_items else positions.train.in_every_order()
    for epoch in clone(network, train, positions.val, settings, order):
        epochs.append(epoch)
        report_progress(epoch)
    return network.to("cpu"), epochs


def measure_clone(
    network: PolicyNetwork, positions: HumanPositions, report_progress: Callable[[str], None] = lambda _: None
) -> CloneReport:
    """Measure the network on data that it was not trained on; ``report_progress`` is called before each step."""
    unseen = positions.test
    report_progress("compared with people's acts")
    most = majority(positions.train)
    acts = likeliest(network, unseen)[0]
    baseline = np.full(unseen.size, most, dtype=np.int8)
    return CloneReport(
        likeness(network, unseen),
        always(most, unseen),
        accuracy(*choices(seat_occupant(HEURISTIC), unseen), unseen),
        gain(acts, baseline, unseen),
        *(_strength(network, unseen.rules.max_turns, greedy, report_progress) for greedy in (True, False)),
    )


def save(path: Path, network: PolicyNetwork, config: TrainConfig, epochs: list[Epoch], report: CloneReport) -> None:
    """Write the checkpoint with the settings, the best epoch and the report in its note."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    best = [epoch for epoch in epochs if epoch.best][-1]
    about = {
        "taught_by": HUMAN_DIALOGUES,
        "disagree": config.env.disagree,
        "trained": {"settings": config.training.model_dump(mode="json"), "epoch": best.epoch},
        "report": report_json(report),
        **training_ancestry(config).note(),
    }
    save_checkpoint(path, tensors, {**network_note(network), **about})


def expert_target(config: TrainConfig) -> Path:
    """The path of the expert's checkpoint: that of the settings, or the default one."""
    return expert_path(config.logging.expert, "supervised")


def report_json(report: CloneReport) -> Any:
    """A report as JSON values, rounded to four digits."""
    return plain_values(report, digits=4)


def _strength(
    network: PolicyNetwork, max_turns: int, greedy: bool, report_progress: Callable[[str], None]
) -> CloneStrength:
    terms, expert = heldout_terms(Rules(max_turns), SEED), ClonedPartner(network, greedy=greedy)
    how = "greedy" if greedy else "sampled"
    played = scores(expert, zoo(), terms, lambda opponent: report_progress(f"{how} play against {opponent}"))
    if not greedy:  # the reference values would be computed again for the same result
        return CloneStrength(played, {})
    evaluation = evaluate(expert, HEURISTIC, terms.source, terms.rules, seed=SEED, report=report_progress)
    return CloneStrength(played, {name: views[BOTH] for name, views in evaluation.shares.items()})
