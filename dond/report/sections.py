"""The report on a league: its summary, abstract and sections, each a function of the facts of the run.

A section of :mod:`league.tables` takes its own part of the facts; those that only the report has stand here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dond.report.collect import CachedCalls, RunFacts, RunFiles
from dond.report.games import games_section
from dond_marl.dialogues.human_line import stored_human_line
from league.figures.rows import Figure
from league.ledger.schema import SCHEMA_VERSION
from league.play.values import Answers, machine
from league.rounds.planner import describe
from league.settings.read import Config
from league.standings.findings import META_GAME_FILE
from league.tables import final
from league.tables.blocks import (
    Cell,
    Report,
    Section,
    Table,
    TableRow,
    TextBlock,
    align_columns,
    count_cell,
    number_cell,
)
from league.tables.figures import count_noun, duration
from league.tables.standings import (
    META_GAME_KEY,
    META_GAME_TITLE,
    crossplay,
    ladder,
    learning,
    members_in_words,
    meta_game,
    practice_warning,
    trust,
)
from league.tables.verdict import verdict_of

MODELS = "Language models"
VALID, CUT = "answered", "answered, cut off at the limit of tokens"


def report_of(facts: RunFacts) -> Report:
    """The whole report; for the facts see :func:`.collect.read_facts`."""
    config, cross, standings, mains = facts.config, facts.cross, facts.standings, facts.mains
    confidence, rounds, learners = config.league.confidence, config.league.rounds, [row.name for row in config.learners]
    models = facts.expensive
    progress = f"{min(facts.rounds, rounds)} of {rounds} rounds"
    state = f"Over: {config.length}" if facts.is_over else f"So far {progress}"
    summary = (
        f"{state}, {cross.total_games:,} games of matches, "
        f"{count_noun(len(cross.members), 'member')}, {len(learners)} of them learning; seed {config.league.seed}"
    )
    cost, warning = _cost(facts), practice_warning(facts.without_practice)
    verdict = verdict_of(facts.curves, mains, cross, standings, facts.files.evaluation, confidence, cost)
    sections = (
        learning(facts.curves, learners, confidence) if learners else None,
        ladder(standings, facts.members, confidence, facts.responses, models, facts.curves, learns=bool(learners)),
        evaluation_section(facts.files) if mains or facts.files.evaluation is not None else None,
        crossplay(cross, standings, confidence),
        meta_game_section(facts.files),
        None if facts.files.meta_game is None else trust(standings, facts.files.meta_game, mains),
        curriculum(facts),
        lineage(facts),
        language_models(facts),
        games_section(facts.games, confidence),
        provenance(facts),
    )
    return Report(
        title=f"League {facts.folder.resolve().parent.name}/{facts.folder.resolve().name}",
        summary=summary if facts.damage is None else f"{summary}. {facts.damage}",
        confidence=confidence,
        sections=tuple(section for section in sections if section is not None),
        abstract=(
            *(() if facts.is_over else [("Unfinished", f"{progress}; the curves end where the last one began")]),
            *([("Warning", warning)] if warning else []),
            *verdict.facts,
        ),
    )


def _cost(facts: RunFacts) -> str:
    """The cost of the run: its time, the machine if it is noted, practice of the mains, and matches."""
    cores, processor = facts.origin.get("cores"), facts.machine.get("machine")
    machine = [*([count_noun(cores, "core")] if cores else []), *([processor] if processor else [])]
    parts = [
        duration(facts.seconds[0]) + (f" ({', '.join(machine)})" if machine else ""),
        *(f"{facts.states[name].decisions:,} decisions of {name}" for name in facts.mains),
        f"{facts.cross.total_games:,} games of matches",
    ]
    return ", ".join(parts)


def meta_game_section(files: RunFiles) -> Section:
    """Ratings and meta-game from the run's file, or the reason why there are none."""
    if files.meta_game is not None:
        return meta_game(files.meta_game)
    return Section(META_GAME_KEY, META_GAME_TITLE, (files.missing[META_GAME_FILE],))


def evaluation_section(files: RunFiles) -> Section:
    """The final evaluation from the run's file, or the reason why there is none, with the figures of people."""
    human = stored_human_line()
    if files.evaluation is not None:
        return final.final_section(files.evaluation, human)
    notes = (files.missing[final.FINAL_FILE], final.about_people(human))
    return Section(final.KEY, final.TITLE, notes, (final.people(human),))


def curriculum(facts: RunFacts) -> Section | None:
    """The stages: their rounds, and when and why each ended; ``None`` without a curriculum."""
    config, stages = facts.config, facts.stages
    if len(config.curriculum) == 1 and not config.stages:
        return None
    ends = {stages[number]: (number, end) for number, end in facts.decisions if end.kind == "stage" and end.taken}
    rows = []
    for i, stage in enumerate(config.curriculum):
        played = [number for number, stage_number in enumerate(stages) if stage_number == i]
        span = _rounds_of_stage(config, played) if played else "not yet" if i > max(stages, default=-1) else ""
        current = "with the league" if facts.is_over else "still on"
        ended = f"after round {ends[i][0] + 1}" if i in ends else current if played else ""
        reason = ends[i][1].reason if i in ends else ""
        count = count_cell(sum(number < config.league.rounds for number in played))
        rows.append(TableRow(stage.name, (describe(config, stage).partition(": ")[2], span, count, ended, reason)))
    heads = ("what it changes; when it ends", "rounds", "number", "ended", "why")
    return Section("curriculum", "Curriculum", (), (Table("Stages", heads, tuple(rows), label="stage"),))


def _rounds_of_stage(config: Config, played: Sequence[int]) -> str:
    """The rounds of a stage, from 1, and the closing measurement: ``3 to 4 and the closing measurement``."""
    rounds = [number + 1 for number in played if number < config.league.rounds]
    closing = ["the closing measurement"] if len(rounds) < len(played) else []
    first, last = (rounds or [0])[0], (rounds or [0])[-1]
    span = [] if not rounds else [str(first)] if first == last else [f"{first} to {last}"]
    return " and ".join([*span, *closing])


def lineage(facts: RunFacts) -> Section | None:
    """Learners with their snapshots, and the decisions about them; without learners the members in words, if any."""
    members = facts.members
    if not facts.states:
        words = members_in_words(members)
        return Section("lineage", "Members", (), words) if words else None
    scores = {row.member: Figure(row.points) for row in facts.standings}
    reasons = {f"{end.subject}@{number + 1}": end.reason for number, end in facts.decisions if end.kind == "snapshot"}
    rows = []
    for learner in (member for member in members if member.live):
        state, role = facts.states[learner.name], learner.role.replace("_", " ")
        restarts = f"started over {count_noun(state.life, 'time')}" if state.life else ""
        cells = (role, "", count_cell(state.decisions), scores.get(learner.name), restarts)
        rows.append(TableRow(learner.name, cells))
        for child in (member for member in members if member.parent == learner.name):
            score, reason = scores.get(child.name), reasons.get(child.name)
            rows.append(TableRow(child.name, (child.origin, f"after round {child.born}", None, score, reason)))
    heads = ("role", "born", "own decisions", "points of ten", "why")
    tables = [Table("Learners, each followed by its snapshots and best responses", heads, tuple(rows))]
    if decided := tuple(
        TableRow(f"round {number + 1}", (d.in_words, d.reason)) for number, d in facts.decisions if d.kind != "stage"
    ):
        tables.append(Table("Decisions: gates, snapshots, fresh starts", ("what", "why"), decided, "when"))
    tables += members_in_words(member for member in members if member.role == "fixed")
    fixed = [member.name for member in members if member.role == "fixed" and member.split == "train"]
    gate, held = ([m.name for m in members if m.split == split] for split in ("gate", "heldout"))
    notes = [f"Fixed from the start: {', '.join(fixed)}."]
    notes += [f"Opponents of the gate only: {', '.join(gate)}."] if gate else []
    notes += [f"Held out until the league is over: {', '.join(held)}."] if held else []
    return Section("lineage", "Lineage", tuple(notes), tuple(tables))


def provenance(facts: RunFacts) -> Section:
    """Origin of the figures: settings, seed, versions, start, seals and hashes, all checked."""
    named, lost = facts.weights
    weights = f"{named - lost} of {named} files match their names (SHA-256)"
    weights += f"; {lost} are missing or damaged: --resume repairs the run" if lost else ""
    seals = facts.damage or f"all {facts.rounds + 1} hold; the last is {facts.last_seal}"
    rows = [
        TableRow("seed", (str(facts.config.league.seed),)),
        TableRow("scenarios", (facts.meta["source"],)),
        TableRow("ledger", (f"schema {SCHEMA_VERSION}; SHA-256 of all rows {facts.fingerprint}",)),
        TableRow("seals", (seals,)),
        *([TableRow("weights", (weights,))] if facts.config.learners else []),
        *(TableRow(name, (f"SHA-256 {digest}",)) for name, digest in facts.files.sha256.items()),
        *(TableRow(name, (version,)) for name, version in _versions(facts.machine)),
    ]
    labels = ("seconds of all rounds", "of these planning, statistics and writing")
    times = tuple(
        TableRow(label, (number_cell(value, "seconds"),)) for label, value in zip(labels, facts.seconds, strict=True)
    )
    started = tuple(TableRow(name, (value,)) for name, value in _start(facts.origin))
    tables = (
        Table("Origin of the figures", ("value",), tuple(rows), label="what", kind="facts"),
        Table("Duration", ("value",), times, label="what", kind="facts"),
        *([Table("Start of the run", ("value",), started, label="what", kind="facts")] if started else []),
    )
    settings = TextBlock("Settings (without paths and the number of workers)", facts.meta["settings"])
    note = "The same settings and seed produce the same rows; the seals are a chain of hashes over them, one per round."
    return Section("provenance", "Provenance", (note,), (*tables, settings))


def _versions(before: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Versions at the start of the run, with those of this report where they differ."""
    after = json.loads(machine())
    for key in sorted(before):
        first, second = (_version_text(versions.get(key)) for versions in (before, after))
        yield key, first if first == second else f"{first} (this report: {second})"


def _start(origin: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    commit = origin.get("commit")
    if commit is not None and origin.get("changed_since"):
        commit = f"{commit}, with changes that were not committed"
    facts = {
        "date": origin.get("started"),
        "command line": origin.get("command"),
        "package version": origin.get("version"),
        "git commit": commit,
        "cores": origin.get("cores"),
    }
    yield from ((name, str(value)) for name, value in facts.items() if value is not None)


def _version_text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def language_models(facts: RunFacts) -> Section | None:
    """Answers, calls and tokens of the league's language models, and failed tasks; ``None`` if there are none."""
    config = facts.config
    names = [learner.name for learner in config.learners]
    hinted = any(stage.hints_of(name).mode == "llm" for stage in config.curriculum for name in names)
    hints = ("Models gave hints to learners in practice; those calls are not in the ledger.",) if hinted else ()
    failed = _failed_tasks(facts)
    if not facts.calls:
        return Section("models", MODELS if hints else "Failed tasks", hints, failed) if hints or failed else None
    tables: list[Table] = [_decision_table(facts.answers)]
    notes = [
        "Decisions and fallbacks: in the matches of the league, from its ledger, including matches that failed because "
        "a member could not be reached; shares are of exactly these decisions, and have no interval. Where no legal "
        "reply came, a stated fallback played. A game in which a member was not reached enters no figure.",
        *hints,
    ]
    for name, calls in facts.calls.items():
        source = f"the entries of {calls.cache}, each query once; leagues with the same cache share them."
        notes.append(calls.problem or f"Calls of {name}: {source}")
        tables += [] if calls.problem else [_calls_table(name, calls)]
    return Section("models", MODELS, tuple(notes), (*tables, *failed))


def _decision_table(counts: Mapping[str, Answers]) -> Table:
    rows: list[dict[str, Cell]] = [
        {
            "decisions": count_cell(answers.decisions),
            "answered": count_cell(answers.own_decisions),
            "fallbacks": count_cell(answers.fallbacks),
            "share of fallbacks": number_cell(answers.fallbacks / answers.decisions, "share", answers.decisions)
            if answers.decisions
            else None,
            **{cause: count_cell(times) for cause, times in answers.by_cause().items()},
            "games": count_cell(answers.games),
            "games left out": count_cell(answers.left_out),
        }
        for answers in counts.values()
    ]
    return Table("Decisions", *align_columns(rows, list(counts)))


def _calls_table(name: str, calls: CachedCalls) -> Table:
    rows = []
    for failure, finished, *numbers in calls.outcomes:
        label = f"no reply: {failure}" if failure is not None else VALID if finished else CUT
        rows.append(TableRow(label, tuple(map(count_cell, numbers))))
    total = [float(sum(row[column] for row in calls.outcomes)) for column in (2, 3, 4)]  # type: ignore[misc]
    rows.append(TableRow("all", tuple(map(count_cell, total))))
    heads = ("calls", "prompt tokens", "completion tokens")
    return Table(f"Calls of {name}, by outcome", heads, tuple(rows), label="class")


def _failed_tasks(facts: RunFacts) -> tuple[Table, ...]:
    """Failed matches and practices by the member at fault, as a table; none if nothing failed."""
    causes: dict[str, list[str]] = {}
    for _, member, cause in facts.failures:
        causes.setdefault(member, []).append(cause)
    rows = tuple(TableRow(name, (count_cell(len(messages)), messages[0])) for name, messages in causes.items())
    return (Table("Failed tasks, by the member at fault", ("tasks", "error of the first"), rows),) if rows else ()
