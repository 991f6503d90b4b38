"""Who whispers to a learner, from the settings: chance, an expert, a language model."""

from __future__ import annotations

from typing import Any

from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.seats import Hinter, Partner
from hints import ExpertHinter, HintSchedule, RandomHinter
from league.settings.training import HintsConfig
from league.tasks.hint_report import model_name
from partners.llm.local.partner import LocalLLMPartner
from partners.llm.occupant import chosen
from partners.network.checkpoint import CheckpointError


def hinter_of(hints: HintsConfig) -> Hinter | None:
    """Who is asked, ``None`` for nobody; no model is read yet and nothing is sent.

    Raises :class:`OccupantNameError` for settings that nobody can be made of.
    """
    if hints.mode == "none":
        return None
    if hints.mode == "random":
        return RandomHinter()
    if hints.mode == "expert":
        return ExpertHinter(*_expert_and_greedy(hints.expert))
    return ExpertHinter(seat_occupant(llm_spec(hints)))


def llm_spec(hints: HintsConfig) -> dict[str, Any]:
    """The occupant that mode ``llm`` asks, with what ``auto`` is here and now."""
    provider = chosen(hints.provider)
    return {
        "kind": "llm",
        "provider": provider,
        "model": model_name(hints),
        "prompt_path": hints.prompt_path,
        "max_requests": hints.max_requests,
        **hints.options,
    }


def make_ready(schedule: HintSchedule | None) -> None:
    """Read a local language model now, and make it if it was not yet: before a run begins, rather than in it.

    Raises :class:`partners.llm.client.SetupError`.
    """
    asked = None if schedule is None else getattr(schedule.hinter, "partner", None)
    if isinstance(asked, LocalLLMPartner):
        asked.local.ready()


def _expert_and_greedy(expert: str) -> tuple[Partner | None, Partner]:
    """The expert, and whose choice stands for it where its checkpoint is missing: counted, and shown."""
    greedy = seat_occupant("heuristic")
    try:
        return seat_occupant(expert), greedy
    except OccupantNameError as error:
        if not isinstance(error.__cause__, CheckpointError):  # another mistake than a missing file
            raise
        return None, greedy
