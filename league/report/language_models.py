"""Report section on a league's language models: decisions, fallbacks by cause, calls and tokens by outcome.

The ledger counts the acts of each seat and how many of them were fallbacks, by cause, in failed matches too. Calls are
counted where a member has a response cache (``cache``): its matches are replayed from that file, without queries, to
classify every refused reply and every fallback.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from dond_marl.errors import error_line
from dond_marl.occupants import parse_spec, seat_occupant
from hints.providers import HinterError
from league.ledger.ledger import ReadLedger
from league.ledger.verify import legs_with_order, replay_leg
from league.settings.read import Config
from league.tables.blocks import Figure, Section, Table, TableRow, number_cell
from league.tasks.answers import Answers
from league.tasks.occupant_kinds import kinds_in
from league.tasks.values import Member
from partners.llm.partner import LLMPartner

TITLE = "Language models"
FINGERPRINT = re.compile(r"[0-9a-f]{32,}")  # stored instead of a model name for a model on this machine
VALID, CUT = "answered", "answered, cut off at the limit of tokens"
CLASSES = {
    "free": "its own choice",
    "re_asked": "prompted again",
    "rejected_": "reply refused: ",
    "failed_": "no reply: ",
    "fallback_": "fallback played: ",
}


def language_models(config: Config, ledger: ReadLedger, blobs: Path) -> Section:
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
        more_tables, more_notes = _cache_tables(member, config, ledger, blobs)
        tables += more_tables
        notes += more_notes
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
    rows = [
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
    heads = tuple(dict.fromkeys(head for row in rows for head in row))
    table = tuple(
        TableRow(name, tuple(row.get(head) for head in heads)) for name, row in zip(counts, rows, strict=True)
    )
    return Table("Decisions", heads, table)


def _count(number: float) -> Figure:
    return number_cell(number, "count")


def _cache_tables(member: Member, config: Config, ledger: ReadLedger, blobs: Path) -> tuple[list[Table], list[str]]:
    """Calls, tokens and classes of decisions of a member, from its response cache; notes, also on a missing cache."""
    kind, options = parse_spec(member.spec or "")
    cache = options.get("cache") if kind == "llm" and options.get("cache_mode", "off") != "off" else None
    if not isinstance(cache, str):
        return [], [f"{member.name} has no response cache (cache), so its calls and tokens are unknown."]
    try:
        calls, models = _calls(Path(cache).expanduser())
    except (OSError, sqlite3.Error) as error:
        return [], [f"{member.name}: its response cache {cache} cannot be read ({error_line(error)})."]
    heads = ("calls", "prompt tokens", "completion tokens")
    tables = [Table(f"Calls of {member.name}, by outcome", heads, calls, label="class")]
    notes = [
        f"Calls of {member.name}: the entries of {cache}, each query once; leagues with the same cache share its calls."
    ]
    if models and all(FINGERPRINT.fullmatch(model) for model in models):
        notes.append(f"{member.name} runs on this machine and can only generate legal lines: no reply was refused.")
        return tables, notes
    classes = _classes(member, config, ledger, blobs)
    if isinstance(classes, str):
        return tables, [*notes, f"Its replies cannot be classified: its matches {classes}."]
    return [*tables, Table(f"Decisions of {member.name}, by class", ("times",), classes, label="class")], notes


def _calls(path: Path) -> tuple[tuple[TableRow, ...], list[str]]:
    """Calls and tokens by outcome, one row each, and the names of the models called."""
    if not path.is_file():
        raise FileNotFoundError("no such file")
    query = (
        "SELECT failure, finished, count(*), sum(prompt_tokens), sum(completion_tokens) FROM replies"
        " GROUP BY failure, finished ORDER BY failure, finished DESC"
    )
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as file:
        outcomes = list(file.execute(query))
        models = [str(model) for (model,) in file.execute("SELECT DISTINCT model FROM replies")]
    rows = []
    for failure, finished, *numbers in outcomes:
        label = f"no reply: {failure}" if failure is not None else VALID if finished else CUT
        rows.append(TableRow(str(label), tuple(map(_count, numbers))))
    total = [float(sum(row[place] for row in outcomes)) for place in (2, 3, 4)]
    rows.append(TableRow("all", tuple(map(_count, total))))
    return tuple(rows), models


def _classes(member: Member, config: Config, ledger: ReadLedger, blobs: Path) -> tuple[TableRow, ...] | str:
    """Decisions of a member by class, from its matches replayed out of its cache; or why that is impossible."""
    replayed = {model.name: _cached_partner(model) for model in ledger.members() if _is_model(model)}
    partner = replayed[member.name]
    if isinstance(partner, str):
        return partner
    instead = {name: model for name, model in replayed.items() if not isinstance(model, str)}
    for number in range(ledger.next_round):
        for order, leg in (*legs_with_order(ledger, number), *legs_with_order(ledger, number, failed=True)):
            if member.name in leg.seats:
                again = replay_leg(config, ledger, blobs, number, order, leg, instead)
                if isinstance(again, str):
                    return again
    return _by_class(partner.tally)


def _cached_partner(member: Member) -> LLMPartner | str:
    """The model in replay mode: it answers from its cache alone; or why that is impossible."""
    kind, options = parse_spec(member.spec or "")
    if kind != "llm":
        return "cannot be replayed: the model is part of a mixture"
    if options.get("provider", "auto") == "auto":
        options["provider"] = "groq"  # the cached answers are a service's, and `auto` selects no other
    try:
        partner = seat_occupant({"kind": "llm", **options, "cache_mode": "replay"})
    except (HinterError, ValueError) as error:
        return f"cannot be replayed: {error_line(error)}"
    assert isinstance(partner, LLMPartner)
    return partner


def _is_model(member: Member) -> bool:
    """Whether a member is a language model, or a mixture with one."""
    return member.spec is not None and "llm" in kinds_in(member.spec)


def _by_class(tally: Counter[str]) -> tuple[TableRow, ...]:
    rows = [TableRow("decisions", (_count(tally["decisions"]),))]
    for prefix, words in CLASSES.items():
        for name in sorted(name for name in tally if name.startswith(prefix)):
            label = f"{words}{name.removeprefix(prefix).replace('_', ' ')}"
            rows.append(TableRow(label, (_count(tally[name]),)))
    return tuple(rows)


def _failed_tasks(ledger: ReadLedger) -> tuple[Table, ...]:
    """Failed matches and practices by the member at fault, as a table; none if nothing failed."""
    causes: dict[str, list[str]] = {}
    for _, member, cause in ledger.failures():
        causes.setdefault(member, []).append(cause)
    rows = tuple(TableRow(name, (_count(len(messages)), messages[0])) for name, messages in causes.items())
    return (Table("Failed tasks, by the member at fault", ("tasks", "error of the first"), rows),) if rows else ()
