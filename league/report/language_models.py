"""Report section on a league's language models: decisions, fallbacks by cause, calls and tokens by outcome.

The ledger counts the acts of each seat and how many of them were fallbacks, by cause, in failed matches too. Calls and
tokens are read from a member's response cache (``cache``), where it has one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from dond_marl.errors import error_line
from dond_marl.occupants import parse_spec
from league.ledger.ledger import ReadLedger
from league.settings.read import Config
from league.tables.blocks import Cell, Figure, Section, Table, TableRow, align_columns, number_cell
from league.tasks.answers import Answers
from league.tasks.occupant_kinds import kinds_in
from league.tasks.values import Member

TITLE = "Language models"
VALID, CUT = "answered", "answered, cut off at the limit of tokens"


def language_models(config: Config, ledger: ReadLedger) -> Section:
    """The section; one note if the league has no language model."""
    models = [member for member in ledger.members() if _is_model(member)]
    learners = [learner.name for learner in config.learners]
    hinted = any(stage.hints_of(name).mode == "llm" for stage in config.curriculum for name in learners)
    hints = ("Models gave hints to learners in practice; those calls are not in the ledger.",) if hinted else ()
    failed = _failed_tasks(ledger)
    if not models:
        return Section("models", TITLE, ("None: no member of this league is a language model.", *hints), failed)
    counts = _answer_counts(ledger, models)
    tables: list[Table] = [_decision_table(counts)]
    notes = [
        "Decisions and fallbacks: in the matches of the league, from its ledger, including matches that failed because "
        "a member could not be reached; shares are of exactly these decisions, and have no interval. Where no legal "
        "reply came, a stated fallback played. A game in which a member was not reached enters no figure.",
        *hints,
    ]
    for member in models:
        calls, note = _calls_of(member)
        tables += calls
        notes.append(note)
    return Section("models", TITLE, tuple(notes), (*tables, *failed))


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
            "decisions": _count(answers.decisions),
            "answered": _count(answers.own_decisions),
            "fallbacks": _count(answers.fallbacks),
            "share of fallbacks": number_cell(answers.fallbacks / answers.decisions, "share", answers.decisions)
            if answers.decisions
            else None,
            **{cause: _count(times) for cause, times in answers.by_cause().items()},
            "games": _count(answers.games),
            "games left out": _count(answers.left_out),
        }
        for answers in counts.values()
    ]
    return Table("Decisions", *align_columns(rows, list(counts)))


def _count(number: float) -> Figure:
    return number_cell(number, "count")


def _calls_of(member: Member) -> tuple[list[Table], str]:
    """Calls and tokens of a member, from its response cache; and a note, on a missing cache too."""
    kind, options = parse_spec(member.spec or "")
    cache = options.get("cache") if kind == "llm" and options.get("cache_mode", "off") != "off" else None
    if not isinstance(cache, str):
        return [], f"{member.name} has no response cache (cache), so its calls and tokens are unknown."
    try:
        calls = _read_calls(Path(cache).expanduser())
    except (OSError, sqlite3.Error) as error:
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
        rows.append(TableRow(str(label), tuple(map(_count, numbers))))
    total = [float(sum(row[place] for row in outcomes)) for place in (2, 3, 4)]
    rows.append(TableRow("all", tuple(map(_count, total))))
    return tuple(rows)


def _is_model(member: Member) -> bool:
    return member.spec is not None and "llm" in kinds_in(member.spec)


def _failed_tasks(ledger: ReadLedger) -> tuple[Table, ...]:
    """Failed matches and practices by the member at fault, as a table; none if nothing failed."""
    causes: dict[str, list[str]] = {}
    for _, member, cause in ledger.failures():
        causes.setdefault(member, []).append(cause)
    rows = tuple(TableRow(name, (_count(len(messages)), messages[0])) for name, messages in causes.items())
    return (Table("Failed tasks, by the member at fault", ("tasks", "error of the first"), rows),) if rows else ()
