"""Where the figures of a report are from: settings, seed, versions, start, seals and hashes, checked on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from league.ledger.ledger import ReadLedger
from league.ledger.schema import SCHEMA_VERSION
from league.settings.read import Config
from league.tables.blocks import Section, Table, TableRow, TextBlock, number_cell
from league.tasks.blobs import BlobError, read_content
from league.tasks.values import machine


def provenance(
    config: Config, ledger: ReadLedger, blobs: Path, sha256: Mapping[str, str], broken: str | None
) -> Section:
    """The section; ``sha256``: of the files read besides the ledger; ``broken``: the damage to the rows, if any."""
    notes, meta = ledger.notes(), ledger.meta()
    rows = [
        TableRow("seed", (str(config.league.seed),)),
        TableRow("scenarios", (meta["source"],)),
        TableRow("ledger", (f"schema {SCHEMA_VERSION}; SHA-256 of all rows {ledger.fingerprint()}",)),
        TableRow("seals", (broken or f"all {ledger.next_round + 1} hold; the last is {ledger.last_seal()}",)),
        *([TableRow("weights", (_weights(ledger, blobs),))] if config.learners else []),
        *(TableRow(name, (f"SHA-256 {digest}",)) for name, digest in sha256.items()),
        *(TableRow(name, (version,)) for name, version in _versions(notes.get("machine", "{}"))),
    ]
    seconds, overhead = ledger.clock()
    cost = {"seconds of all rounds": seconds, "of them planning, folding and writing": overhead}
    rows_of_cost = tuple(TableRow(label, (number_cell(value, "seconds"),)) for label, value in cost.items())
    started = tuple(TableRow(name, (value,)) for name, value in _origin(notes.get("origin", "{}")))
    tables = (
        Table("Where the figures are from", ("value",), tuple(rows), label="what", kind="facts"),
        Table("How long it took", ("value",), rows_of_cost, label="what", kind="facts"),
        *([Table("How it was started", ("value",), started, label="what", kind="facts")] if started else []),
    )
    settings = TextBlock("Settings (without paths and the number of workers)", meta["settings"])
    note = "The same settings and seed come to the same rows; the seals are a chain of hashes over them, one per round."
    return Section("provenance", "Provenance", (note,), (*tables, settings))


def broken_at(ledger: ReadLedger) -> str | None:
    """The first round whose rows differ from what was written, as a sentence; ``None`` where all rows are sound."""
    unsound = ledger.first_unsound()
    if unsound is None:
        return None
    where = "what the run began with" if unsound < 0 else f"round {unsound + 1}"
    return f"BROKEN at {where}: from there on the rows are not what was written; going on with --resume mends the run"


def _weights(ledger: ReadLedger, blobs: Path) -> str:
    """How many files of weights match the hashes in the ledger."""
    named = {state.blob for state in ledger.states().values()}
    named |= {member.blob for member in ledger.members() if member.blob is not None}
    lost = 0
    for blob in sorted(named):
        try:
            read_content(blobs, blob)
        except BlobError:
            lost += 1
    return f"{len(named) - lost} of {len(named)} files are what their names say (SHA-256)" + (
        f"; {lost} are missing or damaged: going on with --resume mends the run" if lost else ""
    )


def _versions(then: str) -> Iterator[tuple[str, str]]:
    """The versions at the start of the run, with those of now where they differ."""
    try:
        before, after = json.loads(then), json.loads(machine())
    except ValueError:  # a note, which no seal covers
        yield "versions", "the ledger's note of them is damaged"
        return
    for key in sorted(before):
        first, second = (_words(versions.get(key)) for versions in (before, after))
        yield key, first if first == second else f"{first} (this report: {second})"


def _origin(note: str) -> Iterator[tuple[str, str]]:
    """When and how the run began, as its ledger keeps it; nothing of a ledger that an older version wrote."""
    try:
        known = json.loads(note)
    except ValueError:  # a note, which no seal covers
        yield "start", "the ledger's note of it is damaged"
        return
    commit = known.get("commit")
    if commit is not None and known.get("changed_since"):
        commit = f"{commit}, with changes that were not committed"
    words = {
        "date": known.get("started"),
        "command line": known.get("command"),
        "package version": known.get("version"),
        "git commit": commit,
        "cores": known.get("cores"),
    }
    yield from ((name, str(value)) for name, value in words.items() if value is not None)


def _words(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
