"""Hints in words: who gives them, whether they tell what the seat cannot see, and how they went."""

from __future__ import annotations

from collections.abc import Mapping

from league.settings.training import HintsConfig
from partners.llm.occupant import chosen

OWN_MODEL = "the project's own model"
UNAVAILABLE = ("unreachable", "unparsable", "illegal", "budget", "unstated")


def told(hints: HintsConfig) -> str:
    """The hints in words, for every report."""
    if hints.mode == "none":
        return "none"
    who: str = hints.mode
    if hints.mode == "llm":
        who += f" ({chosen(hints.provider)}: {model_name(hints) or OWN_MODEL})"
    withheld = f", {hints.dropout:.0%} of them withheld in training" if hints.dropout else ""
    return f"{who}, every {hints.cadence_k}{withheld}{privileged_note(hints)}"


def privileged_note(hints: HintsConfig) -> str:
    """A warning beside every figure that was come by with more than the seat may see."""
    return ", PRIVILEGED: the hinter sees the partner's values" if hints.privileged else ""


def summary(tally: Mapping[str, int]) -> str:
    """How the hints went, in one line."""
    asked, available = tally.get("asked", 0), tally.get("available", 0)
    share = f" ({available / asked:.1%})" if asked else ""
    causes = "".join(
        f", {tally[cause]:,} {cause}" for cause in (*UNAVAILABLE, "missing", "withheld") if tally.get(cause)
    )
    return f"{asked:,} asked, {available:,} available{share}{causes}"


def all_failed(tally: Mapping[str, int]) -> str | None:
    """A warning, if every hint so far was unavailable."""
    if not tally.get("asked") or tally.get("available"):
        return None
    return f"NOT ONE HINT CAME THROUGH ({summary(tally)}): the learner is told nothing, and learns as with --hint none"


def model_name(hints: HintsConfig) -> str | None:
    """The model that mode ``llm`` asks here and now, ``None`` for the project's own."""
    model: str | None = getattr(hints.models, chosen(hints.provider))
    return model
