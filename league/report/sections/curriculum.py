"""What was decided on the way, and why: the stages of the curriculum, snapshots, gates and fresh starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from league.rounds.curriculum import describe
from league.settings.read import Config
from league.standings.ladder import Standing
from league.tables.blocks import Figure, Section, Table, TableRow, number_cell
from league.tasks.values import Decision, LearnerState, Member

WORDS = {"reset": "start over"}  # by kind of decision, where the kind is not the word for it
Decisions = Sequence[tuple[int, Decision]]  # the round, and what was decided when it was over


def curriculum(config: Config, stages: Sequence[int], decisions: Decisions) -> Section:
    """The stages, when each was practiced, and when and why it ended; ``stages`` is the stage of each round."""
    if len(config.curriculum) == 1 and not config.stages:
        return Section("curriculum", "Curriculum", ("None: the league is the same from its first round to its last.",))
    ends = {stages[number]: (number, end) for number, end in decisions if end.kind == "stage" and end.taken}
    rows = []
    for place, stage in enumerate(config.curriculum):
        played = [index for index, at in enumerate(stages) if at == place]
        when = _span(config, played) if played else "not yet" if place > max(stages, default=-1) else ""
        over = len(stages) >= config.schedule.total
        going = "with the league" if over else "still on"
        ended = f"after round {ends[place][0] + 1}" if place in ends else going if played else ""
        why = ends[place][1].reason if place in ends else ""
        cells = (
            describe(config, stage).partition(": ")[2],
            when,
            number_cell(sum(config.schedule.phase(n) != "measures" for n in played), "count"),
            ended,
            why,
        )
        rows.append(TableRow(stage.name, cells))
    heads = ("what it changes; when it ends", "rounds", "number", "ended", "why")
    return Section("curriculum", "Curriculum", (), (Table("Stages", heads, tuple(rows), label="stage"),))


def _span(config: Config, played: Sequence[int]) -> str:
    """The rounds of a stage, from 1; the closing measurement by its name."""
    rounds = [number + 1 for number in played if config.schedule.phase(number) != "measures"]
    closing = ["the closing measurement"] if len(rounds) < len(played) else []
    first, last = (rounds or [0])[0], (rounds or [0])[-1]
    span = [] if not rounds else [str(first)] if first == last else [f"{first} to {last}"]
    return " and ".join([*span, *closing])


def lineage(
    members: Sequence[Member], states: Mapping[str, LearnerState], standings: Sequence[Standing], decisions: Decisions
) -> Section:
    """Every learner with its snapshots, and the decisions about them."""
    if not states:
        return Section("lineage", "Lineage", ("None: nobody learns in this league.",))
    scores = {row.member: Figure(row.points) for row in standings}
    reasons = {f"{made.subject}@{at + 1}": made.reason for at, made in decisions if made.kind == "snapshot"}
    rows = []
    for learner in (member for member in members if member.live):
        state = states[learner.name]
        again = f"started over {state.life} time{'' if state.life == 1 else 's'}" if state.life else ""
        cells = (
            learner.role.replace("_", " "),
            "",
            number_cell(state.decisions, "count"),
            scores.get(learner.name),
            again,
        )
        rows.append(TableRow(learner.name, cells))
        for child in (member for member in members if member.parent == learner.name):
            score, why = scores.get(child.name), reasons.get(child.name)
            born = (f"snapshot of {learner.name}", f"after round {child.born}", None, score, why)
            rows.append(TableRow(child.name, born))
    heads = ("who it is", "born", "own decisions", "points of ten", "why")
    tables = [Table("Learners, each followed by its snapshots", heads, tuple(rows))]
    if repairs := [(at, decision) for at, decision in decisions if decision.kind == "repair"]:
        rounds = tuple(
            TableRow(f"round {at + 1}", (d.subject, "yes" if d.taken else "no", d.reason)) for at, d in repairs
        )
        columns = ("of", "repaired", "against whom, and the points of ten that it lost to them as seat_0 / seat_1")
        tables.append(Table("Exploit and repair: what exploiters took was practiced", columns, rounds, "when"))
    if others := [(at, decision) for at, decision in decisions if decision.kind not in ("stage", "repair")]:
        taken = tuple(
            TableRow(f"round {at + 1}", (d.subject, WORDS.get(d.kind, d.kind), "yes" if d.taken else "no", d.reason))
            for at, d in others
        )
        tables.append(Table("Decisions: gates, snapshots, fresh starts", ("of", "what", "taken", "why"), taken, "when"))
    fixed = [member.name for member in members if member.role == "fixed" and member.split == "train"]
    gate, held = ([m.name for m in members if m.split == split] for split in ("gate", "heldout"))
    notes = [f"Fixed from the start: {', '.join(fixed)}."]
    notes += [f"Met at the gate only: {', '.join(gate)}."] if gate else []
    notes += [f"Held out until the league is over: {', '.join(held)}."] if held else []
    return Section("lineage", "Lineage", tuple(notes), tuple(tables))
