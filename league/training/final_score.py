"""How well a trained learner plays, and what share that is of the best response's points."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from dond_marl.seats import Floats, Turns
from dond_marl.yardsticks.best_response import exact_by_answers
from dond_marl.yardsticks.metrics import Estimate
from hints import HintSchedule
from league.evaluation.evaluate import BOTH, evaluate
from league.evaluation.matches import Result, score
from league.training.training import Training
from partners.network.partner import NetworkPartner

OWN_SHARE = 4  # of the turn limit: a game takes about a quarter of it in own decisions


class ClosingHints(NamedTuple):
    """What the closing evaluation asks of a hinter that costs something; counts and seconds are about right."""

    games: int
    asks: int
    seconds: float  # nan where this process has not practiced


class _Asking:
    """A learner's whisper that tells how many hints it has asked for, after every turn of the games."""

    def __init__(self, schedule: HintSchedule, tell: Callable[[int], None]) -> None:
        self._schedule, self._tell = schedule, tell
        self.deterministic, self.privileged = schedule.deterministic, schedule.privileged

    def tell(self, turns: Turns) -> Floats:
        before, features = self._schedule.tally["asked"], self._schedule.tell(turns)
        if self._schedule.tally["asked"] > before:
            self._tell(self._schedule.tally["asked"])
        return features


def closing_hints(training: Training) -> ClosingHints | None:
    """What both of :func:`final_score`'s evaluations are about to ask; ``None`` where that costs nothing."""
    schedule, learner = training.whisper, training.learner
    if schedule is None or not training.costly_hints:
        return None
    games = 2 * 2 * training.closing_terms.scenarios.size  # in both seats, greedy and sampled
    per_game = learner.decisions / training.games if training.games else training.config.env.max_turns / OWN_SHARE
    asks = round(games * max(per_game / schedule.cadence_k, 1.0))
    asked = schedule.tally["asked"]
    return ClosingHints(games, asks, asks * training.seconds / asked if asked else math.nan)


def final_score(
    training: Training, *, greedy: bool, tell: Callable[[int], None] = lambda _: None
) -> tuple[str, Result]:
    """The learner against ``env.partner`` on held-out scenarios: their description, and the result.

    Under hints that cost something, on ``hints.closing_scenarios`` of them; ``tell`` hears how many were asked so far.
    """
    whisper = None if training.whisper is None else _Asking(training.whisper.whole(), tell)
    learner, terms = NetworkPartner(training.learner.network, greedy=greedy), training.closing_terms
    return terms.source.label, score(learner, training.partner, terms, whisper)


def final_shares(training: Training, *, greedy: bool) -> dict[str, Estimate]:
    """Play without hints as a share of what the best response, and the Nash points, earn on the same scenarios.

    Empty where values are revealed or where the best response is not exact.
    """
    terms = training.heldout_terms()
    if terms.revealed or not exact_by_answers(training.partner, terms.rules) or terms.source.table is None:
        return {}
    learner = NetworkPartner(training.learner.network, greedy=greedy)
    evaluation = evaluate(learner, training.partner, terms.source, terms.rules, seed=terms.seed)
    return {name: views[BOTH] for name, views in evaluation.shares.items()}
