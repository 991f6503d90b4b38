"""What the language models of a league cost: decisions, fallbacks by their cause, calls and tokens by their outcome.

The ledger counts each seat's acts and how many of them a fallback played, not why. Calls are known where a member keeps
its answers in a file (``cache``): then its matches are played again from that file, which asks nobody, and every
refused reply and every fallback gets its class.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from dond_marl.occupants import parse_spec, seat_occupant
from dond_marl.rollout import one_line
from dond_marl.yardsticks.metrics import rate
from hints.providers import HinterError
from league.ledger.ledger import ReadLedger
from league.report.replay import orders, played_again
from league.settings.read import Config
from league.tables.blocks import Figure, Row, Section, Table, plain
from league.tasks.values import Member, kinds_in
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
    tables: list[Table] = [_decisions(counted, config.league.confidence)]
    notes = [
        f"Decisions and fallbacks: in the matches of the league, from its ledger; {config.league.confidence:.0%} "
        f"intervals as if decisions were independent. Where no legal reply came, a stated fallback played.",
        *whispers,
    ]
    for member in models:
        more_tables, more_notes = _of_file(member, config, ledger, blobs, counted[member.name][1])
        tables += more_tables
        notes += more_notes
    return Section("models", TITLE, tuple(notes), (*tables, *failed))


def _counted(ledger: ReadLedger, models: Sequence[Member]) -> dict[str, list[int]]:
    """The decisions of each model, and how many of them a fallback played."""
    counted = {member.name: [0, 0] for member in models}
    for number in range(ledger.next_round):
        for leg in ledger.legs(number):
            for seat in (0, 1):
                if (so_far := counted.get(leg.seats[seat])) is not None:
                    so_far[0] += int(((leg.facts["turns"].astype(np.int64) + 1 - seat) // 2).sum())
                    so_far[1] += int(leg.facts["fallbacks"][:, seat].sum(dtype=np.int64))
    return counted


def _decisions(counted: dict[str, list[int]], confidence: float) -> Table:
    rows = tuple(
        Row(name, (_count(decisions), _count(fallbacks), _share(fallbacks, decisions, confidence)))
        for name, (decisions, fallbacks) in counted.items()
    )
    return Table("Decisions", ("decisions", "fallbacks", "share of fallbacks"), rows)


def _share(happened: int, of: int, confidence: float) -> Figure | None:
    if not of:
        return None
    share = rate(happened, of, confidence)
    return Figure(share._replace(low=max(share.low, 0.0), high=min(share.high, 1.0)), "share")


def _count(number: float) -> Figure:
    return plain(number, "count")


def _of_file(
    member: Member, config: Config, ledger: ReadLedger, blobs: Path, fallbacks: int
) -> tuple[list[Table], list[str]]:
    """Calls, tokens and classes of a member that keeps its answers in a file."""
    kind, options = parse_spec(member.spec or "")
    cache = options.get("cache") if kind == "llm" and options.get("cache_mode", "off") != "off" else None
    none = "; no decision was a fallback's" if not fallbacks else f"; the causes of its {fallbacks:,} are not known"
    if not isinstance(cache, str):
        return [], [f"{member.name} keeps no answers (cache), so that its calls and tokens are not known{none}."]
    try:
        calls, models = _calls(Path(cache).expanduser())
    except (OSError, sqlite3.Error) as error:
        return [], [f"{member.name}: the file of its answers, {cache}, cannot be read ({one_line(error)}){none}."]
    heads = ("calls", "prompt tokens", "completion tokens")
    tables = [Table(f"Calls of {member.name}, by what came of them", heads, calls, label="class")]
    notes = [
        f"Calls of {member.name}: what {cache} holds, each question once; leagues that share the file share its calls."
    ]
    if models and all(FINGERPRINT.fullmatch(model) for model in models):
        notes.append(f"{member.name} runs on this machine and can only say legal lines: no reply was refused{none}.")
        return tables, notes
    classes = _classes(member, config, ledger, blobs)
    if isinstance(classes, str):
        return tables, [*notes, f"Its replies cannot be told apart by class: its matches {classes}{none}."]
    return [*tables, Table(f"Decisions of {member.name}, by class", ("times",), classes, label="class")], notes


def _calls(path: Path) -> tuple[tuple[Row, ...], list[str]]:
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
        rows.append(Row(str(what), tuple(map(_count, numbers))))
    total = [float(sum(row[place] for row in outcomes)) for place in (2, 3, 4)]
    rows.append(Row("all", tuple(map(_count, total))))
    return tuple(rows), models


def _classes(member: Member, config: Config, ledger: ReadLedger, blobs: Path) -> tuple[Row, ...] | str:
    """Every decision by its class, from the member's matches played again from its file; or why that is impossible."""
    replayed = {model.name: _from_file(model) for model in ledger.members() if _is_model(model)}
    partner = replayed[member.name]
    if isinstance(partner, str):
        return partner
    instead = {name: model for name, model in replayed.items() if not isinstance(model, str)}
    for number in range(ledger.next_round):
        for order, leg in orders(ledger, number):
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


def _by_class(tally: Counter[str]) -> tuple[Row, ...]:
    rows = [Row("decisions", (_count(tally["decisions"]),))]
    for prefix, words in CLASSES.items():
        for name in sorted(name for name in tally if name.startswith(prefix)):
            what = f"{words}{name.removeprefix(prefix).replace('_', ' ')}"
            rows.append(Row(what, (_count(tally[name]),)))
    return tuple(rows)


def _failed(ledger: ReadLedger) -> tuple[Table, ...]:
    """Matches and practices that failed, by whose fault."""
    causes: dict[str, list[str]] = {}
    for _, member, cause in ledger.failures():
        causes.setdefault(member, []).append(cause)
    rows = tuple(Row(name, (_count(len(own)), own[0])) for name, own in causes.items())
    return (Table("Tasks that failed, by whose fault", ("tasks", "in the words of the first"), rows),) if rows else ()
