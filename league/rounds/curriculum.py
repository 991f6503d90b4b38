"""Curriculum: the stage of each round and the end of stages, as functions of the history."""

from __future__ import annotations

from itertools import takewhile

from league.settings.learners import LearnerConfig, StageConfig, Until
from league.settings.read import Config
from league.standings.history import History
from league.tasks.values import Decision


def stage_now(config: Config, history: History) -> int:
    """The index of the stage that the next round practices."""
    if not history.stages:
        return 0
    return history.stages[-1] + (stage_end(config, history) is not None)


def rounds_of_practice(config: Config, learner: LearnerConfig) -> int:
    """Number of rounds in which a learner practices, if every stage has its full length and every gate passes."""
    remaining, practiced = config.league.rounds, 0
    for i, stage in enumerate(config.curriculum):
        last = i + 1 == len(config.curriculum) or stage.rounds is None
        rounds = remaining if last or stage.rounds is None else min(stage.rounds, remaining)
        practiced += rounds if stage.learner(learner) is not None else 0
        remaining -= rounds
    waits = config.schedule.occasions(learner.snapshot_every) if learner.is_oracle else 0
    return practiced - waits


def stage_end(config: Config, history: History) -> Decision | None:
    """The decision to end the stage of the last round; ``None`` if the stage continues."""
    index = history.stages[-1]
    if index + 1 == len(config.curriculum):
        return None
    stage = config.curriculum[index]
    played = sum(1 for _ in takewhile(lambda other: other == index, reversed(history.stages)))  # rounds
    if stage.until is not None:
        reached, text = _check_figure(stage.until, config, history)
        if reached:
            return Decision("stage", stage.name, True, f"{text} after {played} rounds")
        if stage.rounds is not None and played >= stage.rounds:
            return Decision("stage", stage.name, True, f"time-out after {played} rounds; {text}")
        return None
    if stage.rounds is None or played < stage.rounds:
        return None
    return Decision("stage", stage.name, True, f"its {played} rounds are over")


def describe(config: Config, stage: StageConfig) -> str:
    """A stage in one line: its changes, and its end."""
    parts = [f"{key} {value}" for key, value in stage.env.model_dump(exclude_none=True).items()]
    if stage.hints.mode != "none":
        every = f"every {stage.hints.cadence_k} own steps"
        parts.append(f"hints by {stage.hints.mode} {every}{stage.hints.privileged_note}")
    for name, learner in stage.learners.items():
        values = learner.changes()
        if learner.matchmaking is not None:
            values["matchmaking"] = ", ".join(f"{share:.0%} {rule}" for rule, share in learner.matchmaking.items())
        if learner.hints is not None:
            values["hints"] = f"by {learner.hints.mode}"
        parts += [f"{name} does not learn"] if not learner.learns else [f"{name}: {k} {v}" for k, v in values.items()]
    ends = []
    if stage.until is not None:
        until = stage.until
        member = until.member or config.learners[0].name
        bound = f"{until.at_least:g} at {until.confidence:.0%} ({until.games:,} games)"
        ends.append(f"until {member} has {until.metric} of at least {bound} against {until.against}")
    if stage.rounds is not None:
        rounds = f"{stage.rounds} round{'s' * (stage.rounds != 1)}"
        ends.append(f"at most {rounds}" if ends else rounds)
    return f"{stage.name}: {', '.join(parts) or 'the league as it is'}; {' or '.join(ends) or 'to the end'}"


def _check_figure(until: Until, config: Config, history: History) -> tuple[bool, str]:
    member = until.member or config.learners[0].name
    opponent = None if until.against == "all" else until.against
    figure = history.cross.figure(until.metric, member, opponent, 2 * until.confidence - 1)
    text = f"{member} has {until.metric} of {figure.mean:.2f}, at least {figure.low:.2f} at {until.confidence:.0%}"
    if figure.n < until.games:
        return False, f"{text}, over {figure.n:,} of {until.games:,} games"
    return figure.low >= until.at_least, text  # false for nan
