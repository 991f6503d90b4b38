"""Who whispers to a learner, from the settings (chance, an expert, a language model), and words for a report of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.seats import Hinter, Traits, costs_to_ask
from hints import ExpertHinter, HintSchedule, RandomHinter
from league.settings.training import HintsConfig
from partners.llm.partner import LocalLLMPartner
from partners.llm.service import resolve_provider
from partners.network.checkpoint import CheckpointError

OWN_MODEL = "the project's own model"
# What became of hints that were not given, in the order in which a report names it.
UNAVAILABLE = ("unreachable", "unparsable", "illegal", "budget", "unstated", "missing", "withheld")


def hinter_of(hints: HintsConfig) -> Hinter | None:
    """Who is asked, ``None`` for nobody; nothing is read or sent yet. Raises :class:`OccupantNameError`."""
    if hints.mode == "none":
        return None
    if hints.mode == "random":
        return RandomHinter()
    if hints.mode == "expert":
        greedy = seat_occupant("heuristic")
        try:
            return ExpertHinter(seat_occupant(hints.expert), greedy)
        except OccupantNameError as error:
            if not isinstance(error.__cause__, CheckpointError):  # another mistake than a missing file
                raise
            return ExpertHinter(None, greedy)  # whose choices stand for the missing expert's, counted so
    return ExpertHinter(seat_occupant(llm_spec(hints)))


def schedule_of(hints: HintsConfig) -> HintSchedule | None:
    """Who whispers to the learner while it learns and when, ``None`` for nobody. Raises :class:`OccupantNameError`."""
    return _scheduled(hints, hinter_of(hints))


def league_schedule_of(hints: HintsConfig) -> HintSchedule | None:
    """The same for a practice of a league: whoever costs something to ask is made once per process.

    So its budget, its connections and what it has found out hold for all learners and rounds of that process; how often
    it is asked and what it is shown is no part of it. All others are made anew, as that changes nothing of what they
    say. The tally is the practice's own.
    """
    hinter = None if hints.mode == "llm" else hinter_of(hints)
    if hints.mode == "llm" or costs_to_ask(getattr(hinter, "traits", Traits())):
        asked = hints.model_dump(exclude={"cadence_k", "dropout", "closing_scenarios", "privileged"})
        hinter = _hinter(json.dumps({**asked, "provider": resolve_provider(hints.provider)}, sort_keys=True))
    return _scheduled(hints, hinter)


@lru_cache(maxsize=64)
def _hinter(who: str) -> Hinter | None:
    """The hinter of the settings that ``who`` holds as JSON."""
    return hinter_of(HintsConfig.model_validate(json.loads(who)))


def _scheduled(hints: HintsConfig, hinter: Hinter | None) -> HintSchedule | None:
    if hinter is None:
        return None
    return HintSchedule(hinter, hints.cadence_k, dropout=hints.dropout, privileged=hints.privileged)


def llm_spec(hints: HintsConfig) -> dict[str, Any]:
    """The occupant that mode ``llm`` asks, with what ``auto`` is here and now."""
    return {
        "kind": "llm",
        "provider": resolve_provider(hints.provider),
        "model": _model(hints),
        "prompt_path": hints.prompt_path,
        "max_requests": hints.max_requests,
        **hints.options,
    }


def make_ready(schedule: HintSchedule | None) -> None:
    """Read a local language model now, or make it, before a run. Raises :class:`partners.llm.client.SetupError`."""
    partner = None if schedule is None else getattr(schedule.hinter, "partner", None)
    if isinstance(partner, LocalLLMPartner):
        partner.local.load()


def in_words(hints: HintsConfig) -> str:
    """The hints for a person: who gives them, how often, and whether they tell what the seat cannot see."""
    if hints.mode == "none":
        return "none"
    who: str = hints.mode
    if hints.mode == "llm":
        who += f" ({resolve_provider(hints.provider)}: {_model(hints) or OWN_MODEL})"
    withheld = f", {hints.dropout:.0%} of them withheld in training" if hints.dropout else ""
    return f"{who}, every {hints.cadence_k}{withheld}{hints.privileged_note}"


def summary(tally: Mapping[str, int]) -> str:
    """How the hints went, in one line; ``tally`` counts hints by what became of them."""
    asked, available = tally.get("asked", 0), tally.get("available", 0)
    share = f" ({available / asked:.1%})" if asked else ""
    causes = "".join(f", {tally[cause]:,} {cause}" for cause in UNAVAILABLE if tally.get(cause))
    return f"{asked:,} asked, {available:,} available{share}{causes}"


def all_failed(tally: Mapping[str, int]) -> str | None:
    """A warning if every hint so far was unavailable."""
    if not tally.get("asked") or tally.get("available"):
        return None
    return f"NOT ONE HINT CAME THROUGH ({summary(tally)}): the learner is told nothing, and learns as with --hint none"


def _model(hints: HintsConfig) -> str | None:
    """The model that mode ``llm`` asks here and now, ``None`` for the project's own."""
    model: str | None = getattr(hints.models, resolve_provider(hints.provider))
    return model
