"""Who whispers, from the settings: an equilibrium is one of the experts."""

from __future__ import annotations

from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space
from league.play.hinters import describe_hints, hint_schedule
from league.settings.sections import HintsConfig


def test_an_equilibrium_is_an_expert_that_whispers_to_a_seat():
    hints = HintsConfig.model_validate({"mode": "expert", "expert": "equilibrium"})
    schedule, partner = hint_schedule(hints), seat_occupant("heuristic")
    assert schedule is not None and not schedule.deterministic
    some = lewis_space().rows(slice(0, 5000, 100))
    rollout((partner, partner), some, Rules(4), seed=1, hints=(schedule, None))
    assert schedule.tally["asked"] == schedule.tally["available"] >= some.size
    assert describe_hints(hints).startswith("expert, every ")
