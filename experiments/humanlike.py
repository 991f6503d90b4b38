"""Strength and likeness to people: the same training from scratch, from people's play, and pulled toward it.

One settings file is trained from scratch, from ``init_from``, and from there with its pull ``kl`` (once for each pull
that is asked for), with one or several seeds. Beside them stand what they start from, and who always says what people
say most. Strength is own points against the roster dev on scenarios that nobody trained on; likeness is measured on
what people said in ``test`` (:mod:`league.evaluation.likeness`), in replies first: in an opening everybody proposes.
Where DISAGREE ends the game, the positions in which somebody refuses are no positions of it, so likeness is then to
people who never refuse; how many positions that leaves out is told.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.dialogues.positions import Positions, human_positions
from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.statistics import Estimate, mean_of
from league.evaluation.likeness import Accuracy, Likeness, always, distance, likeness, majority
from league.evaluation.matches import Scores, heldout_terms, scores
from league.ledger.run_directory import new_run
from league.settings.training import TrainConfig
from league.training.training import Watcher, train
from partners.network.network import PolicyNetwork
from partners.network.partner import NetworkPartner

SEED = 0  # of the games
CONFIDENCE = 0.95  # two-sided, of intervals over seeds


class HumanlikeError(InputError):
    """Settings from which no such table can be made, in one line."""


class Row(NamedTuple):
    """One policy: its strength, and its likeness to people."""

    name: str
    seed: int | None  # of its training; None for what was there before
    decisions: int  # own decisions that it learned from
    greedy: Scores
    sampled: Scores
    likeness: Likeness
    distance: Estimate  # KL(it || what it starts from), nats


class Base(NamedTuple):
    """What likeness is measured on, and how often the act is guessed by who always says the same."""

    positions: int  # of test, that games under the rules know
    replies: int  # of them those where the partner had spoken
    refusals: int  # positions of test that the rules leave out: somebody refuses there, or was just refused
    most_said: str  # the act
    majority: Accuracy  # of always saying it


class Mean(NamedTuple):
    """One training over its seeds: means, with Student's intervals over seeds; over scenarios where there is one."""

    name: str
    seeds: int  # 0 for what was there before
    decisions: int
    greedy: Estimate  # points of ten
    sampled: Estimate
    replies: Estimate  # the same act, in replies
    everywhere: Estimate
    distance: Estimate
    act_nats: Estimate


def check(config: TrainConfig) -> None:
    """Raise :class:`HumanlikeError` unless the settings say where to start and how strong the pull is."""
    training = config.training
    if training.algo == "bc":
        raise HumanlikeError("the settings must be those of ppo or reinforce; bc is where they start from")
    if training.init_from is None:
        raise HumanlikeError("the settings must say training.init_from, such as expert(kind=supervised)")
    if config.hints.mode != "none":
        raise HumanlikeError("people were told no hints, so likeness to them is measured without: say hints.mode=none")


def base_of(positions: Positions, whole: Positions) -> Base:
    """Of the positions that likeness is measured on, and all of the same talks under rules that know refusals."""
    most = majority(positions)
    replies = int(positions.replies.sum())
    return Base(positions.size, replies, whole.size - positions.size, most.name, always(most, positions))


def means(rows: Sequence[Row]) -> list[Mean]:
    """One line a training, in order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.name, []).append(row)
    return [_mean(name, own) for name, own in found.items()]


def _mean(name: str, rows: Sequence[Row]) -> Mean:
    def over(value: Callable[[Row], Estimate]) -> Estimate:
        if len(rows) == 1:
            return value(rows[0])
        return mean_of([value(row).mean for row in rows], CONFIDENCE)

    return Mean(
        name,
        sum(row.seed is not None for row in rows),
        rows[0].decisions,
        over(lambda row: row.greedy.points),
        over(lambda row: row.sampled.points),
        over(lambda row: row.likeness.accuracy.replies),
        over(lambda row: row.likeness.accuracy.everywhere),
        over(lambda row: row.distance),
        over(lambda row: row.likeness.act_nats),
    )


def variants(config: TrainConfig, pulls: Sequence[float]) -> Iterator[tuple[str, TrainConfig]]:
    """Every training of the table, by name."""
    algo, training = config.training.algo.upper(), config.training
    starts: list[tuple[str, Mapping[str, Any]]] = [
        (f"{algo} from scratch", {"init_from": None, "kl": 0.0}),
        (f"people, then {algo}", {"kl": 0.0}),
        *((f"people, then {algo} with a pull of {pull:g}", {"kl": pull}) for pull in pulls),
    ]
    for name, changes in starts:
        yield name, config.model_copy(update={"training": training.model_copy(update=changes)})


def base(config: TrainConfig, data_dir: Path | None) -> Base:
    """What likeness is measured on under the settings' rules. Raises :class:`dond_marl.scenarios.data.DataError`."""
    rules = config.env.rules()
    whole = human_positions("test", Rules(rules.max_turns, "rejects"), data_dir)
    return base_of(human_positions("test", rules, data_dir), whole)


def rows(
    config: TrainConfig,
    pulls: Sequence[float],
    seeds: Sequence[int],
    data_dir: Path | None,
    watcher: Watcher,
    opponents: Sequence[str],
    tell: Callable[[str], None],
) -> Iterator[Row]:
    """Every policy, first what the trainings start from, then each training with each of ``seeds``.

    All play ``opponents``; ``tell`` is called with what is being done.

    Raises :class:`dond_marl.scenarios.data.DataError`, :class:`partners.learning.first_weights.FirstWeightsError`, and
    ``KeyboardInterrupt`` once the watcher has asked for a stop.
    """
    unseen = human_positions("test", config.env.rules(), data_dir)
    people = config.training.first_network(config.env, hints=False, seed=0)
    terms = heldout_terms(config.env.rules(), SEED)

    def row(name: str, seed: int | None, decisions: int, network: PolicyNetwork) -> Row:
        like, nats = likeness(network, unseen), distance(network, people, unseen)
        played = []
        for greedy in (True, False):
            tell(f"{name}: {'greedy' if greedy else 'sampled'} play on the held-out scenarios")
            played.append(scores(NetworkPartner(network, greedy=greedy), opponents, terms))
        return Row(name, seed, decisions, played[0], played[1], like, nats)

    yield row("people", None, 0, people)
    for (name, settings), seed in itertools.product(variants(config, pulls), seeds):
        tell(f"training: {name}, seed {seed}")
        seeded = settings.model_copy(update={"training": settings.training.model_copy(update={"seed": seed})})
        training, finished = train(seeded, new_run(Path(config.logging.output_dir).expanduser()), watcher)
        if not finished:
            raise KeyboardInterrupt
        learner = training.learner
        yield row(name, seed, learner.decisions, learner.network.to("cpu"))
