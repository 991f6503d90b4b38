"""Strength and likeness to people: the same training from scratch, from people's play, and pulled toward it.

One settings file is trained from scratch, from ``init_from``, and from there with its pull ``kl`` (once for each pull
that is asked for). Beside them stands what they start from. Strength is own points against the roster dev on scenarios
that nobody trained on; likeness is measured on what people said in ``test`` (:mod:`league.evaluation.likeness`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.dialogues.positions import human_positions
from dond_marl.errors import InputError
from dond_marl.yardsticks.metrics import Estimate
from league.evaluation.likeness import Likeness, distance, likeness
from league.evaluation.matches import Scores, heldout_terms, scores
from league.ledger.run_directory import new_run
from league.settings.training import TrainConfig
from league.training.training import Watcher, train
from partners.network.network import PolicyNetwork
from partners.network.partner import NetworkPartner

SEED = 0  # of the games


class HumanlikeError(InputError):
    """Settings from which no such table can be made, in one line."""


class Row(NamedTuple):
    """One policy: its strength, and its likeness to people."""

    name: str
    run: str | None  # the run folder; None for what was there before
    decisions: int  # own decisions that it learned from
    greedy: Scores
    sampled: Scores
    likeness: Likeness
    distance: Estimate  # KL(it || what it starts from), nats


def check(config: TrainConfig) -> None:
    """Raise :class:`HumanlikeError` unless the settings say where to start and how strong the pull is."""
    training = config.training
    if training.algo == "bc":
        raise HumanlikeError("the settings must be those of ppo or reinforce; bc is where they start from")
    if training.init_from is None:
        raise HumanlikeError("the settings must say training.init_from, such as expert(kind=supervised)")
    if config.hints.mode != "none":
        raise HumanlikeError("people were told no hints, so likeness to them is measured without: say hints.mode=none")


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


def rows(
    config: TrainConfig,
    pulls: Sequence[float],
    data_dir: Path | None,
    watcher: Watcher,
    opponents: Sequence[str],
    tell: Callable[[str], None],
) -> Iterator[Row]:
    """The rows of the table, first that of what the trainings start from.

    All play ``opponents``; ``tell`` is called with what is being done.

    Raises :class:`dond_marl.scenarios.data.DataError`, :class:`partners.learning.first_weights.FirstWeightsError`, and
    ``KeyboardInterrupt`` once the watcher has asked for a stop.
    """
    unseen = human_positions("test", config.env.rules(), data_dir)
    people = config.training.first_network(config.env, hints=False, seed=0)
    terms = heldout_terms(config.env.rules(), SEED)

    def row(name: str, run: str | None, decisions: int, network: PolicyNetwork) -> Row:
        like, nats = likeness(network, unseen), distance(network, people, unseen)
        played = []
        for greedy in (True, False):
            tell(f"{name}: {'greedy' if greedy else 'sampled'} play on the held-out scenarios")
            played.append(scores(NetworkPartner(network, greedy=greedy), opponents, terms))
        return Row(name, run, decisions, played[0], played[1], like, nats)

    yield row("people", None, 0, people)
    for name, settings in variants(config, pulls):
        tell(f"training: {name}")
        directory = new_run(Path(config.logging.output_dir).expanduser())
        training, finished = train(settings, directory, watcher)
        if not finished:
            raise KeyboardInterrupt
        learner = training.learner
        yield row(name, str(directory.path), learner.decisions, learner.network.to("cpu"))
