"""What the language models of a league cost: decisions, fallbacks by their cause, calls and tokens by their outcome.

The ledger counts each seat's acts and how many of them a fallback played, and why, in failed matches too. Calls are
known where a member keeps its answers in a file (``cache``): then its matches are played again from that file, which
asks nobody, and every refused reply and every fallback gets its class.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from dond_marl.occupants import parse_spec, seat_occupant
from dond_marl.rollout import one_line
from hints.providers import HinterError
from league.ledger.ledger import ReadLedger
from league.ledger.replay import orders, played_again
from league.settings.read import Config
from league.tables.blocks import Figure, Section, Table, TableRow, number_cell
from league.tasks.answers import Answers
from league.tasks.seating import kinds_in
from league.tasks.values import Member
from partners.llm.partner import LLMPartner

TITLE = "Language models"
FINGERPRINT = re.compile(r"[0-9a-f]{32,}")  # what stands in place of a service's model for one on this machine
ANSWERED, CUT = "answered", "answered, cut off at the limit of tokens"
CLASSES = {
    "free": "its own choice",
    "re_asked": "asked once more",
    "rejected_": "reply refused: ",
    "failed_": "no reply: ",
    "fallback_": "fallback played: ",
}


def language_models(config: Config, ledger: ReadLedger, blobs: Path) -> Section:
    """The section; one line where the league has no language model."""
    models = [member for member in ledger.members() if _is_model(member)]
    learners = [learner.name for learner in config.learners]
    hinted = any(stage.hints_of(name).mode == "llm" for stage in config.curriculum for name in learners)
    whispers = ("Models whispered to learners in practice; those calls are not in the ledger.",) if hinted else ()
    failed = _failed(ledger)
    if not models:
        return Section("models", TITLE, ("None were asked: no member of this league is one.", *whispers), failed)
    counted = _counted(ledger, models)
    tables: list[Table] = [_decisions(counted)]
    notes = [
        "Decisions and fallbacks: in the matches of the league, from its ledger, those that failed because somebody "
        "could not be reached included; shares are of just these decisions, and have no interval. Where no legal reply "
        "came, a stated fallback played. A game in which a member was not reached counts for nobody.",
        *whispers,
    ]
    for member in models:
        more_tables, more_notes = _of_file(member, config, ledger, blobs)
        tables += more_tables
        notes += more_notes
    return Section("models", TITLE, tuple(notes), (*tables, *failed))


def _counted(ledger: ReadLedger, models: Sequence[Member]) -> dict[str, Answers]:
    """Who answered for each model."""
    counted = {member.name: Answers() for member in models}
    for number in range(ledger.next_round):
        for leg in (*ledger.legs(number), *ledger.legs(number, failed=True)):
            for name, answers in zip(leg.seats, leg.answers, strict=True):
                if name in counted:
                    counted[name] += answers
    return counted


def _decisions(counted: Mapping[str, Answers]) -> Table:
    rows = [
        {
            "decisions": _count(own.decisions),
            "answered": _count(own.own_decisions),
            "fallbacks": _count(own.fallbacks),
            "share of fallbacks": number_cell(own.fallbacks / own.decisions, "share", own.decisions)
            if own.decisions
            else None,
            **{cause: _count(times) for cause, times in own.by_cause().items()},
            "games": _count(own.games),
            "games left out": _count(own.left_out),
        }
        for own in counted.values()
    ]
    heads = tuple(dict.fromkeys(head for row in rows for head in row))
    table = tuple(
        TableRow(name, tuple(row.get(head) for head in heads)) for name, row in zip(counted, rows, strict=True)
    )
    return Table("Decisions", heads, table)


def _count(number: float) -> Figure:
    return number_cell(number, "count")


def _of_file(member: Member, config: Config, ledger: ReadLedger, blobs: Path) -> tuple[list[Table], list[str]]:
    """Calls, tokens and classes of a member that keeps its answers in a file."""
    kind, options = parse_spec(member.spec or "")
    cache = options.get("cache") if kind == "llm" and options.get("cache_mode", "off") != "off" else None
    if not isinstance(cache, str):
        return [], [f"{member.name} keeps no answers (cache), so that its calls and tokens are not known."]
    try:
        calls, models = _calls(Path(cache).expanduser())
    except (OSError, sqlite3.Error) as error:
        return [], [f"{member.name}: the file of its answers, {cache}, cannot be read ({one_line(error)})."]
    heads = ("calls", "prompt tokens", "completion tokens")
    tables = [Table(f"Calls of {member.name}, by what came of them", heads, calls, label="class")]
    notes = [
        f"Calls of {member.name}: what {cache} holds, each question once; leagues that share the file share its calls."
    ]
    if models and all(FINGERPRINT.fullmatch(model) for model in models):
        notes.append(f"{member.name} runs on this machine and can only say legal lines: no reply was refused.")
        return tables, notes
    classes = _classes(member, config, ledger, blobs)
    if isinstance(classes, str):
        return tables, [*notes, f"Its replies cannot be told apart by class: its matches {classes}."]
    return [*tables, Table(f"Decisions of {member.name}, by class", ("times",), classes, label="class")], notes


def _calls(path: Path) -> tuple[tuple[TableRow, ...], list[str]]:
    """Calls and tokens by their outcome, and the models that were called."""
    if not path.is_file():
        raise FileNotFoundError("it is not here")
    query = (
        "SELECT failure, finished, count(*), sum(prompt_tokens), sum(completion_tokens) FROM replies"
        " GROUP BY failure, finished ORDER BY failure, finished DESC"
    )
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as file:
        outcomes = list(file.execute(query))
        models = [str(model) for (model,) in file.execute("SELECT DISTINCT model FROM replies")]
    rows = []
    for failure, finished, *numbers in outcomes:
        what = f"no reply: {failure}" if failure is not None else ANSWERED if finished else CUT
        rows.append(TableRow(str(what), tuple(map(_count, numbers))))
    total = [float(sum(row[place] for row in outcomes)) for place in (2, 3, 4)]
    rows.append(TableRow("all", tuple(map(_count, total))))
    return tuple(rows), models


def _classes(member: Member, config: Config, ledger: ReadLedger, blobs: Path) -> tuple[TableRow, ...] | str:
    """Every decision by its class, from the member's matches played again from its file; or why that is impossible."""
    replayed = {model.name: _from_file(model) for model in ledger.members() if _is_model(model)}
    partner = replayed[member.name]
    if isinstance(partner, str):
        return partner
    instead = {name: model for name, model in replayed.items() if not isinstance(model, str)}
    for number in range(ledger.next_round):
        for order, leg in (*orders(ledger, number), *orders(ledger, number, failed=True)):
            if member.name in leg.seats:
                again = played_again(config, ledger, blobs, number, order, leg, instead)
                if isinstance(again, str):
                    return again
    return _by_class(partner.tally)


def _from_file(member: Member) -> LLMPartner | str:
    """The model answering from its file alone, without a call; or why that is impossible."""
    kind, options = parse_spec(member.spec or "")
    if kind != "llm":
        return "cannot be played again: it is one of several"
    if options.get("provider", "auto") == "auto":
        options["provider"] = "groq"  # its answers are a service's, and no other is asked by itself
    try:
        partner = seat_occupant({"kind": "llm", **options, "cache_mode": "replay"})
    except (HinterError, ValueError) as error:
        return f"cannot be played again: {one_line(error)}"
    assert isinstance(partner, LLMPartner)
    return partner


def _is_model(member: Member) -> bool:
    """Whether it is a language model, or a mixture that holds one."""
    return member.spec is not None and "llm" in kinds_in(member.spec)


def _by_class(tally: Counter[str]) -> tuple[TableRow, ...]:
    rows = [TableRow("decisions", (_count(tally["decisions"]),))]
    for prefix, words in CLASSES.items():
        for name in sorted(name for name in tally if name.startswith(prefix)):
            what = f"{words}{name.removeprefix(prefix).replace('_', ' ')}"
            rows.append(TableRow(what, (_count(tally[name]),)))
    return tuple(rows)


def _failed(ledger: ReadLedger) -> tuple[Table, ...]:
    """Matches and practices that failed, by whose fault."""
    causes: dict[str, list[str]] = {}
    for _, member, cause in ledger.failures():
        causes.setdefault(member, []).append(cause)
    rows = tuple(TableRow(name, (_count(len(own)), own[0])) for name, own in causes.items())
    return (Table("Tasks that failed, by whose fault", ("tasks", "in the words of the first"), rows),) if rows else ()
