"""Sections of the report: curriculum, lineage, provenance, and answers of language models."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from dond_marl.errors import InputError, error_line
from dond_marl.files import user_path
from dond_marl.occupants import missing_needs
from league.ledger.ledger import ReadLedger
from league.ledger.schema import SCHEMA_VERSION
from league.rounds.curriculum import describe
from league.settings.read import Config
from league.standings.ladder import Standing
from league.tables.blocks import (
    Cell,
    Figure,
    Section,
    Table,
    TableRow,
    TextBlock,
    align_columns,
    count_cell,
    number_cell,
)
from league.tables.standings import members_in_words
from league.tasks.answers import Answers
from league.tasks.blobs import BlobError, read_content
from league.tasks.occupant_kinds import kinds_in
from league.tasks.values import Decision, LearnerState, Member, machine

KINDS = {"reset": "start over"}  # kinds of decisions that are not a word for people
Decisions = Sequence[tuple[int, Decision]]  # the round, and a decision at its end


def curriculum(config: Config, stages: Sequence[int], decisions: Decisions) -> Section:
    """The stages: their rounds, and when and why each ended. ``stages``: the stage of each round."""
    if len(config.curriculum) == 1 and not config.stages:
        return Section("curriculum", "Curriculum", ("None: the league is the same from its first round to its last.",))
    ends = {stages[number]: (number, end) for number, end in decisions if end.kind == "stage" and end.taken}
    rows = []
    for place, stage in enumerate(config.curriculum):
        played = [index for index, at in enumerate(stages) if at == place]
        when = _rounds_of_stage(config, played) if played else "not yet" if place > max(stages, default=-1) else ""
        over = len(stages) >= config.schedule.total
        still = "with the league" if over else "still on"
        ended = f"after round {ends[place][0] + 1}" if place in ends else still if played else ""
        why = ends[place][1].reason if place in ends else ""
        count = count_cell(sum(config.schedule.phase(n) != "measures" for n in played))
        rows.append(TableRow(stage.name, (describe(config, stage).partition(": ")[2], when, count, ended, why)))
    heads = ("what it changes; when it ends", "rounds", "number", "ended", "why")
    return Section("curriculum", "Curriculum", (), (Table("Stages", heads, tuple(rows), label="stage"),))


def _rounds_of_stage(config: Config, played: Sequence[int]) -> str:
    """The rounds of a stage, from 1, and the closing measurement: ``3 to 4 and the closing measurement``."""
    rounds = [number + 1 for number in played if config.schedule.phase(number) != "measures"]
    closing = ["the closing measurement"] if len(rounds) < len(played) else []
    first, last = (rounds or [0])[0], (rounds or [0])[-1]
    span = [] if not rounds else [str(first)] if first == last else [f"{first} to {last}"]
    return " and ".join([*span, *closing])


def lineage(
    members: Sequence[Member], states: Mapping[str, LearnerState], standings: Sequence[Standing], decisions: Decisions
) -> Section:
    """Learners with their snapshots, and the decisions about them (gates, snapshots, fresh starts)."""
    if not states:
        return Section("lineage", "Lineage", ("None: the league has no learners.",), members_in_words(members))
    scores = {row.member: Figure(row.points) for row in standings}
    reasons = {f"{each.subject}@{at + 1}": each.reason for at, each in decisions if each.kind == "snapshot"}
    rows = []
    for learner in (member for member in members if member.live):
        state = states[learner.name]
        restarts = f"started over {state.life} time{'' if state.life == 1 else 's'}" if state.life else ""
        count = count_cell(state.decisions)
        rows.append(
            TableRow(learner.name, (learner.role.replace("_", " "), "", count, scores.get(learner.name), restarts))
        )
        for child in (member for member in members if member.parent == learner.name):
            score, why = scores.get(child.name), reasons.get(child.name)
            born = (child.origin, f"after round {child.born}", None, score, why)
            rows.append(TableRow(child.name, born))
    heads = ("role", "born", "own decisions", "points of ten", "why")
    tables = [Table("Learners, each followed by its snapshots and best responses", heads, tuple(rows))]
    if others := [(at, decision) for at, decision in decisions if decision.kind != "stage"]:
        taken = tuple(
            TableRow(f"round {at + 1}", (d.subject, KINDS.get(d.kind, d.kind), "yes" if d.taken else "no", d.reason))
            for at, d in others
        )
        tables.append(Table("Decisions: gates, snapshots, fresh starts", ("of", "what", "taken", "why"), taken, "when"))
    tables += members_in_words(member for member in members if member.role == "fixed")
    fixed = [member.name for member in members if member.role == "fixed" and member.split == "train"]
    gate, held = ([m.name for m in members if m.split == split] for split in ("gate", "heldout"))
    notes = [f"Fixed from the start: {', '.join(fixed)}."]
    notes += [f"Opponents of the gate only: {', '.join(gate)}."] if gate else []
    notes += [f"Held out until the league is over: {', '.join(held)}."] if held else []
    return Section("lineage", "Lineage", tuple(notes), tuple(tables))


def provenance(
    config: Config, ledger: ReadLedger, blobs: Path, sha256: Mapping[str, str], damage: str | None
) -> Section:
    """Origin of the figures: settings, seed, versions, start, seals and hashes, all checked.

    ``sha256``: digests of the files read other than the ledger; ``damage``: a sentence, see ``Ledger.damage``.
    """
    notes, meta = ledger.notes(), ledger.meta()
    rows = [
        TableRow("seed", (str(config.league.seed),)),
        TableRow("scenarios", (meta["source"],)),
        TableRow("ledger", (f"schema {SCHEMA_VERSION}; SHA-256 of all rows {ledger.fingerprint()}",)),
        TableRow("seals", (damage or f"all {ledger.next_round + 1} hold; the last is {ledger.last_seal()}",)),
        *([TableRow("weights", (_weights(ledger, blobs),))] if config.learners else []),
        *(TableRow(name, (f"SHA-256 {digest}",)) for name, digest in sha256.items()),
        *(TableRow(name, (version,)) for name, version in _versions(notes.get("machine", "{}"))),
    ]
    seconds, overhead = ledger.clock()
    times = {"seconds of all rounds": seconds, "of these planning, statistics and writing": overhead}
    rows_of_times = tuple(TableRow(label, (number_cell(value, "seconds"),)) for label, value in times.items())
    started = tuple(TableRow(name, (value,)) for name, value in _start(notes.get("origin", "{}")))
    tables = (
        Table("Origin of the figures", ("value",), tuple(rows), label="what", kind="facts"),
        Table("Duration", ("value",), rows_of_times, label="what", kind="facts"),
        *([Table("Start of the run", ("value",), started, label="what", kind="facts")] if started else []),
    )
    settings = TextBlock("Settings (without paths and the number of workers)", meta["settings"])
    note = "The same settings and seed produce the same rows; the seals are a chain of hashes over them, one per round."
    return Section("provenance", "Provenance", (note,), (*tables, settings))


def _weights(ledger: ReadLedger, blobs: Path) -> str:
    named = {state.blob for state in ledger.states().values()}
    named |= {member.blob for member in ledger.members() if member.blob is not None}
    lost = 0
    for blob in sorted(named):
        try:
            read_content(blobs, blob)
        except BlobError:
            lost += 1
    return f"{len(named) - lost} of {len(named)} files match their names (SHA-256)" + (
        f"; {lost} are missing or damaged: --resume repairs the run" if lost else ""
    )


def _versions(then: str) -> Iterator[tuple[str, str]]:
    """Versions at the start of the run, with those of this report where they differ."""
    try:
        before, after = json.loads(then), json.loads(machine())
    except ValueError:  # notes are not covered by a seal
        yield "versions", "the ledger's note of them is damaged"
        return
    for key in sorted(before):
        first, second = (_version_text(versions.get(key)) for versions in (before, after))
        yield key, first if first == second else f"{first} (this report: {second})"


def _start(note: str) -> Iterator[tuple[str, str]]:
    try:
        origin = json.loads(note)
    except ValueError:  # notes are not covered by a seal
        yield "start", "the ledger's note of it is damaged"
        return
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


MODELS = "Language models"
VALID, CUT = "answered", "answered, cut off at the limit of tokens"


def language_models(config: Config, ledger: ReadLedger) -> Section:
    """The section; one note if the league has no language model."""
    models = [member for member in ledger.members() if _is_model(member)]
    learners = [learner.name for learner in config.learners]
    hinted = any(stage.hints_of(name).mode == "llm" for stage in config.curriculum for name in learners)
    hints = ("Models gave hints to learners in practice; those calls are not in the ledger.",) if hinted else ()
    failed = _failed_tasks(ledger)
    if not models:
        return Section("models", MODELS, ("None: no member of this league is a language model.", *hints), failed)
    counts = _answer_counts(ledger, models)
    tables: list[Table] = [_decision_table(counts)]
    notes = [
        "Decisions and fallbacks: in the matches of the league, from its ledger, including matches that failed because "
        "a member could not be reached; shares are of exactly these decisions, and have no interval. Where no legal "
        "reply came, a stated fallback played. A game in which a member was not reached enters no figure.",
        *hints,
    ]
    for member in models:
        calls, note = _calls_of(member, ledger)
        tables += calls
        notes.append(note)
    return Section("models", MODELS, tuple(notes), (*tables, *failed))


def _answer_counts(ledger: ReadLedger, models: Sequence[Member]) -> dict[str, Answers]:
    """Own decisions and fallbacks of each model, failed matches included."""
    counts = {member.name: Answers() for member in models}
    for number in range(ledger.next_round):
        for leg in (*ledger.legs(number), *ledger.legs(number, failed=True)):
            for name, answers in zip(leg.seats, leg.answers, strict=True):
                if name in counts:
                    counts[name] += answers
    return counts


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


def _calls_of(member: Member, ledger: ReadLedger) -> tuple[list[Table], str]:
    """Calls and tokens of a member, from its response cache; and a note, on a missing cache too."""
    spec = member.spec
    options = {} if spec is None or spec.kind != "llm" else spec.parameters
    cache = options.get("cache") if options.get("cache_mode", "off") != "off" else None
    if spec is None or not isinstance(cache, str):
        return [], f"{member.name} has no response cache (cache), so its calls and tokens are unknown."
    if "file" in missing_needs(spec, ledger.allow):
        return [], f"{member.name}: its response cache {cache} is read with --trust alone."
    try:
        calls = _read_calls(user_path(cache))
    except (OSError, InputError, sqlite3.Error) as error:
        return [], f"{member.name}: its response cache {cache} cannot be read ({error_line(error)})."
    heads = ("calls", "prompt tokens", "completion tokens")
    note = f"Calls of {member.name}: the entries of {cache}, each query once; leagues with the same cache share them."
    return [Table(f"Calls of {member.name}, by outcome", heads, calls, label="class")], note


def _read_calls(path: Path) -> tuple[TableRow, ...]:
    if not path.is_file():
        raise FileNotFoundError("no such file")
    query = (
        "SELECT failure, finished, count(*), sum(prompt_tokens), sum(completion_tokens) FROM replies"
        " GROUP BY failure, finished ORDER BY failure, finished DESC"
    )
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as file:
        outcomes = list(file.execute(query))
    rows = []
    for failure, finished, *numbers in outcomes:
        label = f"no reply: {failure}" if failure is not None else VALID if finished else CUT
        rows.append(TableRow(str(label), tuple(map(count_cell, numbers))))
    total = [float(sum(row[place] for row in outcomes)) for place in (2, 3, 4)]
    rows.append(TableRow("all", tuple(map(count_cell, total))))
    return tuple(rows)


def _is_model(member: Member) -> bool:
    return member.spec is not None and "llm" in kinds_in(member.spec)


def _failed_tasks(ledger: ReadLedger) -> tuple[Table, ...]:
    """Failed matches and practices by the member at fault, as a table; none if nothing failed."""
    causes: dict[str, list[str]] = {}
    for _, member, cause in ledger.failures():
        causes.setdefault(member, []).append(cause)
    rows = tuple(TableRow(name, (count_cell(len(messages)), messages[0])) for name, messages in causes.items())
    return (Table("Failed tasks, by the member at fault", ("tasks", "error of the first"), rows),) if rows else ()
