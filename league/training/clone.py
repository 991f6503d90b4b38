"""The supervised expert: behaviour cloning from the published dialogues, measured and saved as a checkpoint.

Likeness to people compares its acts with theirs at the same held-out positions (``test``), with intervals over
scenarios. Accuracy looks at the likeliest act alone, cross-entropy at the whole distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.dialogues.positions import Positions, choices, human_positions
from dond_marl.game import Act, Rules
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.randomness import generator
from dond_marl.seats import Bools, Doubles, Int8s, Partner
from dond_marl.statistics import Estimate, mean_over_scenarios
from league.evaluation.evaluate import evaluate
from league.evaluation.matches import BOTH, MEMBER, Terms, heldout_terms, score
from league.figures.measures import NUMBER
from league.figures.rows import plain_values
from league.figures.tally import Tally
from league.play.practice import network_shape
from league.play.provenance import training_ancestry
from league.settings.training import TrainConfig
from partners.learning.cloning import CloneSettings, Epoch, Examples, clone, encode_examples
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.heads import ActionDistribution
from partners.network.network import PolicyNetwork
from partners.network.occupants import HUMAN_DIALOGUES
from partners.network.partner import ClonedPartner
from partners.rosters import TRAIN, roster

HEURISTIC = Spec("heuristic")  # the default partner, for comparison
SEED = 0  # of the games that measure it
CONFIDENCE = 0.95  # two-sided, of every interval of likeness


class HumanPositions(NamedTuple):
    """Positions of people's dialogues: for training, for early stopping, and for measuring."""

    train: Positions
    val: Positions
    test: Positions


class Accuracy(NamedTuple):
    """The share of positions at which a policy's likeliest act is that of people."""

    everywhere: Estimate  # the act
    replies: Estimate  # the act, where the partner had acted before
    offers: Estimate  # where people made an offer: all items of it


class Likeness(NamedTuple):
    """Closeness of one policy to people."""

    accuracy: Accuracy  # of its likeliest act and split
    act_nats: Estimate  # cross-entropy of people's acts
    oA_nats: Estimate  # what they would keep, where they made an offer


class Scores(NamedTuple):
    """A member's scores over several opponents."""

    points: Estimate  # mean over the opponents
    deals: float
    against: Mapping[str, Estimate]  # points by opponent


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
    network = PolicyNetwork(network_shape(chosen, config.env, hints=False), seed=chosen.seed).to(chosen.device)
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
    acts, _ = likeliest(network, unseen)
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


def report_json(report: CloneReport) -> Any:
    """A report as JSON values, rounded to four digits."""
    return plain_values(report, digits=4)


def _strength(
    network: PolicyNetwork, max_turns: int, greedy: bool, report_progress: Callable[[str], None]
) -> CloneStrength:
    terms, expert = heldout_terms(Rules(max_turns), SEED), ClonedPartner(network, greedy=greedy)
    how = "greedy" if greedy else "sampled"
    played = scores(expert, roster(TRAIN), terms, lambda opponent: report_progress(f"{how} play against {opponent}"))
    if not greedy:  # the reference values would be computed again for the same result
        return CloneStrength(played, {})
    evaluation = evaluate(expert, HEURISTIC, terms.source, terms.rules, seed=SEED, report=report_progress)
    return CloneStrength(played, {name: views[BOTH] for name, views in evaluation.shares.items()})


def accuracy(act: Int8s, oA: Int8s, positions: Positions) -> Accuracy:
    """The accuracy of the guesses ``act[N]`` and ``oA[N, 3]``."""
    right = act == positions.act
    offers = positions.act <= Act.INSIST
    same = (oA == positions.oA).all(axis=1) & (act <= Act.INSIST)
    return Accuracy(
        mean_over_positions(right, positions),
        mean_over_positions(right, positions, positions.replies),
        mean_over_positions(same, positions, offers),
    )


def majority(taught: Positions) -> Act:
    """The most frequent act of people."""
    return Act(int(np.bincount(taught.act, minlength=len(Act)).argmax()))


def always(act: Act, positions: Positions) -> Accuracy:
    """The accuracy of always taking ``act``, and of keeping everything in an offer."""
    return accuracy(np.full(positions.size, act, dtype=np.int8), positions.counts, positions)


def gain(act: Int8s, other: Int8s, positions: Positions) -> tuple[Estimate, Estimate]:
    """Accuracy of ``act[N]`` - accuracy of ``other[N]``, paired: everywhere, and in replies."""
    more = (act == positions.act).astype(np.int8) - (other == positions.act)
    return mean_over_positions(more, positions), mean_over_positions(more, positions, positions.replies)


@torch.no_grad()
def likeness(network: PolicyNetwork, positions: Positions) -> Likeness:
    """Compare ``network`` with the acts of people at ``positions``."""
    examples = encode_examples(positions, network)
    act_log, oA_log, _ = _distribution(network, examples).log_probs(examples.act, examples.oA)
    return Likeness(
        accuracy(*likeliest(network, positions), positions),
        mean_over_positions(_array(-act_log), positions),
        mean_over_positions(_array(-oA_log), positions, positions.act <= Act.INSIST),
    )


@torch.no_grad()
def likeliest(network: PolicyNetwork, positions: Positions) -> tuple[Int8s, Int8s]:
    """The likeliest act ``[N]``, and the likeliest ``oA`` of an offer ``[N, 3]``."""
    act, oA, _ = _distribution(network, encode_examples(positions, network)).sample(None)
    return act.cpu().numpy().astype(np.int8), oA.cpu().numpy().astype(np.int8)


def _distribution(network: PolicyNetwork, examples: Examples) -> ActionDistribution:
    return network.distribution(network.evaluate(examples.inputs)[0], examples.mask, examples.inputs)


def mean_over_positions(values: NDArray[Any], positions: Positions, among: Bools | None = None) -> Estimate:
    """The mean of ``values[N]`` over the positions ``of``, by default all, with its interval over scenarios."""
    return mean_over_scenarios(values, positions.group, CONFIDENCE, among)


def _array(values: Tensor) -> Doubles:
    return values.cpu().double().numpy()


def scores(
    member: Partner, opponents: Sequence[str], terms: Terms, report: Callable[[str], None] = lambda _: None
) -> Scores:
    """Play ``member`` against each of ``opponents``, named as in the catalogue.

    ``report`` receives each opponent's name. Raises as :func:`play` does.
    """
    tallies = []
    for name in opponents:
        report(name)
        tallies.append(score(member, seat_occupant(name), terms, names=(MEMBER, name)).tally)
    by_opponent = Tally.stack(tallies)  # [opponents, seat, figure, GROUPS]
    points, deals = by_opponent[:, :, NUMBER["points"]], by_opponent[:, :, NUMBER["deals"]]
    against = {name: points[i].mean(terms.confidence) for i, name in enumerate(opponents)}
    return Scores(points.mean(terms.confidence), float(deals.means().mean()), against)
