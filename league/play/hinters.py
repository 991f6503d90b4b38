"""Hint providers of a learner, made from the settings, and estimated numbers of queries to expensive occupants.

A query is a decision of a language model or a person, a hint, or a verdict of a judge. Estimates query no model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from dond_marl.occupants import OccupantNameError, Spec, seat_occupant
from dond_marl.seats import Hinter, Partner
from hints import ExpertHinter, HintSchedule, RandomHinter
from league.settings.sections import HintsConfig
from partners.llm.partner import LocalLLMPartner
from partners.llm.remote.failures import duration_text
from partners.llm.service import resolve_provider
from partners.network.checkpoint import CheckpointError

OWN_MODEL = "the small model of this package"
# Causes of hints that were not available, in the order of a report.
UNAVAILABLE = ("unreachable", "unparsable", "illegal", "budget", "unstated", "missing", "withheld")
ACTS_PER_GAME = 5.0  # of both seats: mean of games of the train roster
JUDGE = "llm_judge"  # the reward that queries a language model


def hint_provider(hints: HintsConfig, seat: Callable[[Spec], Partner] = seat_occupant) -> Hinter | None:
    """The hint provider of the settings, ``None`` for mode ``none``; nothing is read or sent yet.

    A missing expert checkpoint is replaced by the heuristic's greedy choices, counted as such. ``seat`` makes the
    occupant that is queried. Raises :class:`OccupantNameError`.
    """
    if hints.mode == "none":
        return None
    if hints.mode == "random":
        return RandomHinter()
    if hints.mode == "expert":
        greedy = seat_occupant("heuristic")
        try:
            return ExpertHinter(seat(hints.expert), greedy)
        except OccupantNameError as error:
            if not isinstance(error.__cause__, CheckpointError):  # another mistake than a missing file
                raise
            return ExpertHinter(None, greedy)
    return ExpertHinter(seat(llm_spec(hints)))


def hint_schedule(hints: HintsConfig) -> HintSchedule | None:
    """Provider, cadence and dropout of a training's hints; ``None`` without hints. Raises as :func:`hint_provider`."""
    return _schedule(hints, hint_provider(hints))


def league_hint_schedule(hints: HintsConfig) -> HintSchedule | None:
    """The hints of a league's practice; the occupant that is queried for them is made once per process.

    Its budget, connections and probed capabilities are then shared by all learners and rounds of the process, whatever
    their cadence, dropout or privileges. The tally belongs to one practice.
    """
    return _schedule(hints, hint_provider(hints, _shared_occupant))


_shared_occupant = lru_cache(maxsize=64)(seat_occupant)  # of this process


def _schedule(hints: HintsConfig, provider: Hinter | None) -> HintSchedule | None:
    if provider is None:
        return None
    return HintSchedule(provider, hints.cadence_k, dropout=hints.dropout, privileged=hints.privileged)


def llm_spec(hints: HintsConfig) -> Spec:
    """The occupant that mode ``llm`` queries, with provider ``auto`` resolved on this machine."""
    settings = {
        "provider": resolve_provider(hints.provider),
        "model": _model_name(hints),
        "prompt_path": hints.prompt_path,
        "max_requests": hints.max_requests,
        **hints.options,
    }
    return Spec("llm", settings)


def load_local_model(schedule: HintSchedule | None) -> None:
    """Load a local language model now, before a run. Raises :class:`partners.llm.client.SetupError`."""
    partner = None if schedule is None else getattr(schedule.hinter, "partner", None)
    if isinstance(partner, LocalLLMPartner):
        partner.local.load()


def describe_hints(hints: HintsConfig) -> str:
    """The hints in one phrase: provider, cadence, dropout, and whether they are privileged."""
    if hints.mode == "none":
        return "none"
    provider: str = hints.mode
    if hints.mode == "llm":
        provider += f" ({resolve_provider(hints.provider)}: {_model_name(hints) or OWN_MODEL})"
    withheld = f", {hints.dropout:.0%} of them withheld in training" if hints.dropout else ""
    return f"{provider}, every {hints.cadence_k}{withheld}{hints.privileged_note}"


def hint_summary(tally: Mapping[str, int]) -> str:
    """One line on the hints of a run; ``tally``: number of hints by outcome."""
    requested, available = tally.get("asked", 0), tally.get("available", 0)
    share = f" ({available / requested:.1%})" if requested else ""
    causes = "".join(f", {tally[cause]:,} {cause}" for cause in UNAVAILABLE if tally.get(cause))
    return f"{requested:,} requested, {available:,} available{share}{causes}"


def no_hint_warning(tally: Mapping[str, int]) -> str | None:
    """A warning if every hint so far was unavailable, otherwise ``None``."""
    if not tally.get("asked") or tally.get("available"):
        return None
    return f"NO HINT WAS AVAILABLE ({hint_summary(tally)}): the learner trains as with --hint none"


def _model_name(hints: HintsConfig) -> str | None:
    """The model that mode ``llm`` queries on this machine, ``None`` for the project's own."""
    model: str | None = getattr(hints.models, resolve_provider(hints.provider), None)
    return model


class QueryEstimate(NamedTuple):
    """The estimated queries to one expensive member, hint provider or judge."""

    name: str
    role: str  # a relative clause, such as "which plays"
    games: int
    expected: int  # queries
    bound: int  # the most queries
    to_model: bool = False  # a language model that plays or gives hints: no person, no judge

    def __str__(self) -> str:
        bound = "" if self.bound <= self.expected else f", at most {self.bound:,}"
        return (
            f"{self.name}, {self.role}: about {self.expected:,} queries in {self.games:,} games{bound}; "
            f"at 1 second a query {duration_text(self.expected)}"
        )


def hint_queries(hints: HintsConfig, games: int, decisions: int, role: str) -> QueryEstimate:
    """The queries of a language model that gives ``hints`` in ``games`` with ``decisions`` of the hinted seat.

    One at every ``cadence_k``-th own decision of a game, the first included; withheld hints are not queried.
    """
    share, every = 1 - hints.dropout, hints.cadence_k
    expected = round(games * hints_per_game(decisions / max(games, 1), every) * share)
    bound = decisions if every == 1 else decisions / every + games  # one at the first decision of every game
    most = math.ceil(max(bound * share, expected))
    return QueryEstimate("a language model", role, games, expected, most, to_model=True)


def expected_decisions(max_turns: int) -> float:
    """Expected decisions of one seat in a game of at most ``max_turns`` acts, at least 1."""
    return max(min(ACTS_PER_GAME, max_turns) / 2, 1.0)


def hints_per_game(decisions: float, every: int) -> float:
    """Expected hints in a game with ``decisions`` own ones on average (at least 1), one at every ``every``-th of them.

    Lengths of games are taken as geometric: each decision is the last one with the same probability.
    """
    go_on = 1 - 1 / max(decisions, 1.0)
    return 1 / (1 - go_on**every)


def query_lines(queries: Sequence[QueryEstimate]) -> list[str]:
    """The lines of a dry run on expensive queries; none without them."""
    if not queries:
        return []
    return ["queries of:", *map(str, queries), "their tokens, time and price: dond llm-check SPEC --config FILE"]
