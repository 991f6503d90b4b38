"""Which stage of the curriculum is practiced: a fold over the ledger."""

from __future__ import annotations

import math

from dond_marl.yardsticks.metrics import Estimate
from league.settings.read import Config
from league.settings.stages import StageConfig, Until
from league.standings.history import History
from league.tasks.values import Decision


def stage_now(config: Config, history: History) -> int:
    """The place of the stage that the next round practices."""
    if not history.stages:
        return 0
    return history.stages[-1] + (ended(config, history) is not None)


def ended(config: Config, history: History) -> Decision | None:
    """The decision to leave the stage of the round just played, ``None`` where it goes on."""
    place = history.stages[-1]
    stage, last = config.curriculum[place], place + 1 == len(config.curriculum)
    if last:
        return None
    played = _played(history)
    if stage.until is not None:
        reached, told = _reached(stage.until, config, history)
        if reached:
            return Decision("stage", stage.name, True, f"{told} after {played} rounds")
        if stage.rounds is not None and played >= stage.rounds:
            return Decision("stage", stage.name, True, f"time-out after {played} rounds; {told}")
        return None
    assert stage.rounds is not None
    return Decision("stage", stage.name, True, f"its {played} rounds are over") if played >= stage.rounds else None


def describe(config: Config, stage: StageConfig) -> str:
    """A stage in one line: what it changes, and when it ends."""
    changed = {key: value for key, value in stage.env.model_dump().items() if value is not None}
    told = [f"{key} {value}" for key, value in changed.items()]
    if stage.hints.mode != "none":
        told.append(f"hints by {stage.hints.mode} every {stage.hints.cadence_k} own steps{stage.hints.privileged_note}")
    for name, learner in stage.learners.items():
        said = {k: value for k, value in learner.model_dump(exclude={"learns", "hints"}).items() if value is not None}
        if learner.hints is not None:
            said["hints"] = f"by {learner.hints.mode}"
        told += [f"{name} does not learn"] if not learner.learns else [f"{name}: {k} {v}" for k, v in said.items()]
    ends = []
    if stage.until is not None:
        until = stage.until
        who = until.member or config.learners[0].name
        bound = f"{until.at_least:g} at {until.confidence:.0%} ({until.games:,} games)"
        ends.append(f"until {who} has {until.metric} of at least {bound} against {until.against}")
    if stage.rounds is not None:
        ends.append(f"at most {stage.rounds} rounds" if ends else f"{stage.rounds} rounds")
    return f"{stage.name}: {', '.join(told) or 'the league as it is'}; {' or '.join(ends) or 'to the end'}"


def _played(history: History) -> int:
    """Rounds of the stage that the last round belongs to."""
    place, played = history.stages[-1], 0
    for stage in reversed(history.stages):
        if stage != place:
            break
        played += 1
    return played


def _reached(until: Until, config: Config, history: History) -> tuple[bool, str]:
    member = until.member or config.learners[0].name
    figure = _figure(until, member, history)
    told = f"{member} has {until.metric} of {figure.mean:.2f}, at least {figure.low:.2f} at {until.confidence:.0%}"
    if figure.n < until.games:
        return False, f"{told}, over {figure.n:,} of {until.games:,} games"
    return not math.isnan(figure.low) and figure.low >= until.at_least, told


def _figure(until: Until, member: str, history: History) -> Estimate:
    others = None if until.against == "all" else until.against
    return history.cross.figure(until.metric, member, others, 2 * until.confidence - 1)
