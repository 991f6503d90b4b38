"""The supervised expert: cloned from the published dialogues, measured, and saved as a checkpoint."""

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
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.statistics import Estimate
from league.evaluation.evaluate import BOTH, evaluate
from league.evaluation.likeness import Accuracy, Likeness, accuracy, always, gain, likeliest, likeness, majority
from league.evaluation.matches import Scores, heldout_terms, scores
from league.settings.rosters import zoo
from league.settings.training import TrainConfig
from league.tasks.provenance import training_ancestry
from partners.learning.cloning import CloneSettings, Epoch, clone
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.network import PolicyNetwork
from partners.network.occupants import HUMAN_DIALOGUES, supervised_path
from partners.network.partner import ClonedPartner

HEURISTIC = "heuristic"  # the default partner, which the expert is compared with
SEED = 0  # of the games on the card


class Lessons(NamedTuple):
    """People's positions: for training, for early stopping, and for measuring."""

    taught: Positions
    others: Positions
    unseen: Positions


class Strength(NamedTuple):
    """How well a clone plays on the held-out scenarios where DISAGREE ends the game."""

    zoo: Scores
    shares: dict[str, Estimate]  # of points against the heuristic, by what they are a share of


class Report(NamedTuple):
    """What the expert is worth, measured on data that it was not trained on."""

    likeness: Likeness
    majority: Accuracy  # of always saying what people say most
    heuristic: Accuracy
    more_than_majority: tuple[Estimate, Estimate]  # of acts right: everywhere, and in replies
    greedy: Strength
    sampled: Strength


def lessons(config: TrainConfig) -> Lessons:
    """The positions of the dialogue files under the rules; those learned from without scenarios that are held out.

    Raises :class:`dond_marl.scenarios.data.DataError`.
    """
    rules, folder = config.env.rules(), config.env.data_dir
    taught, others = (human_positions(split, rules, folder, trainable_only=True) for split in ("train", "val"))
    return Lessons(taught, others, human_positions("test", rules, folder))


def teach(
    config: TrainConfig, positions: Lessons, tell: Callable[[Epoch], None] = lambda _: None
) -> tuple[PolicyNetwork, list[Epoch]]:
    """ClonedPartner the people's play, a function of the settings and the data alone; ``tell`` hears of every epoch."""
    chosen = config.training
    torch.set_num_threads(chosen.threads)
    settings = CloneSettings(**{field.name: getattr(chosen, field.name) for field in fields(CloneSettings)})
    network = PolicyNetwork(chosen.shape(config.env, hints=False), seed=chosen.seed).to(chosen.device)
    epochs = []

    def order(epoch: int, size: int) -> NDArray[np.int64]:
        return generator(chosen.seed, "cloning", epoch).permutation(size)

    # A network that reads items in an order of its own answers the same in every order.
    taught = positions.taught if chosen.sorted_items else positions.taught.in_every_order()
    for epoch in clone(network, taught, positions.others, settings, order):
        epochs.append(epoch)
        tell(epoch)
    return network.to("cpu"), epochs


def examine(network: PolicyNetwork, positions: Lessons, tell: Callable[[str], None] = lambda _: None) -> Report:
    """Measure the network on data that it was not trained on; ``tell`` hears of each step."""
    unseen = positions.unseen
    tell("beside what people said")
    most = majority(positions.taught)
    acts = likeliest(network, unseen)[0]
    baseline = np.full(unseen.size, most, dtype=np.int8)
    return Report(
        likeness(network, unseen),
        always(most, unseen),
        accuracy(*choices(seat_occupant(HEURISTIC), unseen), unseen),
        gain(acts, baseline, unseen),
        *(_strength(network, unseen.rules.max_turns, greedy, tell) for greedy in (True, False)),
    )


def save(path: Path, network: PolicyNetwork, config: TrainConfig, epochs: list[Epoch], report: Report) -> None:
    """Write the checkpoint, with the settings, the best epoch and the report as its card."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    best = [epoch for epoch in epochs if epoch.best][-1]
    about = {
        "taught_by": HUMAN_DIALOGUES,
        "disagree": config.env.disagree,
        "trained": {"settings": config.training.model_dump(mode="json"), "epoch": best.epoch},
        "report": plain(report),
        **training_ancestry(config).note(),
    }
    save_checkpoint(path, tensors, {**network_note(network), **about})


def target(config: TrainConfig) -> Path:
    """The path of the expert's checkpoint: that of the settings, or the shipped one's."""
    path = config.logging.expert
    return supervised_path() if path is None else Path(path).expanduser()


def plain(value: object) -> Any:
    """A report as plain JSON values, rounded to four digits; ``nan`` becomes null."""
    value = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return None if np.isnan(value) else round(value, 4)
    return value


def _strength(network: PolicyNetwork, max_turns: int, greedy: bool, tell: Callable[[str], None]) -> Strength:
    terms, expert = heldout_terms(Rules(max_turns), SEED), ClonedPartner(network, greedy=greedy)
    how = "greedy" if greedy else "sampled"
    played = scores(expert, zoo(), terms, lambda opponent: tell(f"{how} play against {opponent}"))
    if not greedy:  # the best response would be played once more for the same points
        return Strength(played, {})
    evaluation = evaluate(expert, HEURISTIC, terms.source, terms.rules, seed=SEED, tell=tell)
    return Strength(played, {name: views[BOTH] for name, views in evaluation.shares.items()})
