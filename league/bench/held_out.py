"""Evaluations on the rosters test2 and test3: the sample of test2, and the log that each is written to beforehand.

A roster stays held out only while few decisions depend on it. The log shows how often it was used, and why: one line
of JSON for each evaluation, which nothing removes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.errors import InputError
from dond_marl.files import read_row
from dond_marl.occupants import Spec
from league.bench.results import ResultsError, append, digest
from league.ledger.run_directory import source_commit
from partners.provenance import held_out_rosters
from partners.rosters import LOGGED

SAMPLE = 662  # of test2: scenarios of lewis, each played once in both seats: the partners are slow
LOG = "{}_log.jsonl"  # of a roster
IN_CHECKOUT = Path(__file__).resolve().parents[2] / "docs" / "results"
OF_LOGGED = " and ".join(LOGGED)
KEYS = ("at", "commit", "name", "seed", "identity_sha256", "against", "scenarios", "reason")  # of a line


class Logging(NamedTuple):
    """The roster and the reason of an evaluation that is logged, and the file of the log."""

    roster: str
    reason: str
    log: Path


def logging_of(partners: Iterable[Spec], results: Path, reason: str | None, log: Path | None) -> Logging | None:
    """Reason and log of an evaluation against ``partners``; ``None`` if no member of :data:`LOGGED` is among them.

    ``log``: by default that of the roster in this checkout, otherwise a file next to ``results``. Raises
    :class:`~dond_marl.errors.InputError` without a reason, and for a reason that no log needs.
    """
    rosters = [name for name in LOGGED if name in held_out_rosters(partners)]
    if not rosters:
        if reason is not None or log is not None:
            raise InputError(f"--reason and --log are for evaluations against {OF_LOGGED}, which alone are logged")
        return None
    if reason is None or not reason.strip():
        raise InputError(
            f"every evaluation against {rosters[-1]} is logged: say with --reason TEXT why this one is made. Methods "
            "are compared and tuned on dev, dev2 and people_dev"
        )
    folder = IN_CHECKOUT if IN_CHECKOUT.is_dir() else results.parent
    return Logging(rosters[-1], reason.strip(), log or folder / LOG.format(rosters[-1]))


def log_evaluation(logging: Logging, **what: Any) -> int:
    """Write a line to the log, and return the number of earlier ones. ``what``: the other :data:`KEYS` of the line.

    Raises :class:`~league.bench.results.ResultsError` for a file that is no log.
    """
    line = {
        "at": datetime.now(UTC).isoformat("T", "seconds"),
        "commit": source_commit()["commit"],
        **{key: value for key, value in what.items() if key != "identity"},
        "identity_sha256": digest({"identity": what["identity"]}),
        "reason": logging.reason,
    }
    assert line.keys() == set(KEYS)
    return append(logging.log, {key: line[key] for key in KEYS}, _check_line)


def _check_line(text: bytes, path: Path, number: int) -> None:
    if not read_row(text, path, number).keys() >= set(KEYS):
        raise ResultsError(f"{path}, line {number}: no line of a log of {OF_LOGGED}; restore the file, or name another")
