"""Evaluations on test2: each needs a reason and is logged before it is played. Rows of the former test are dev2's."""

from __future__ import annotations

import json
import sys

import pytest

from dond_marl.errors import InputError, MissingLibrary
from dond_marl.occupants import seat_occupant
from league.api import benchmark
from league.bench.held_out import IN_CHECKOUT, KEYS, LOG, SAMPLE, Logging, logging_of
from league.bench.results import ResultsError, append, read, seal_row
from league.bench.run import Opponents, measure, opponents_of, submission_of_spec
from league.bench.table import leaderboard
from partners.rosters import DEV2, TEST2, author_of, load_rosters, members_hash, roster
from tests.command import dond

MEMBER = next(member for member in roster(TEST2) if author_of(member) == "project")
SOME = Opponents(TEST2, (MEMBER, next(member for member in roster(TEST2) if author_of(member) in "abcd")))


def lines_of(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


@pytest.mark.parametrize(
    ("against", "reason"), [(TEST2, None), (MEMBER, ""), (f"mixture(of=['nice', {MEMBER!r}])", "  ")]
)
def test_without_a_reason_nothing_is_played(against, reason, tmp_path):
    with pytest.raises(InputError, match="--reason"):
        benchmark("heuristic", [against], results=tmp_path / "bench.jsonl", reason=reason)
    with pytest.raises(InputError, match="--reason"):
        measure(submission_of_spec("heuristic"), opponents_of([against]))
    assert list(tmp_path.iterdir()) == []


def test_a_reason_elsewhere_is_refused(tmp_path):
    with pytest.raises(InputError, match="test2"):
        benchmark("heuristic", ["linear"], results=tmp_path / "bench.jsonl", reason="none")


def test_every_evaluation_is_logged_before_it_is_played_and_the_table_counts_them(tmp_path, capsys):
    results, log = tmp_path / "bench.jsonl", tmp_path / "log" / "mine.jsonl"
    words = ("bench", "heuristic", "--against", MEMBER, "--reason", "a test", "--log", log, "--sample", 40)
    words += ("--allow-uncommitted",)
    for seed in (1, 2):
        assert dond(*words, "--seed", seed, "--results", results) == 0
    first, second = lines_of(log)
    assert tuple(first) == KEYS and (first["name"], first["seed"], first["reason"]) == ("heuristic", 1, "a test")
    assert (second["seed"], second["scenarios"]) == (2, "40 of lewis")
    assert first["identity_sha256"] == second["identity_sha256"] and len(first["identity_sha256"]) == 64
    rows = read([results])
    assert [row["test2"]["earlier_evaluations"] for row in rows] == [0, 1]
    assert all(seal_row(row)["sha256"] == row["sha256"] for row in rows)
    assert any("logged before these: 0 to 1" in note for note in leaderboard(rows).sections[0].notes)
    with pytest.raises(InputError):  # refused before the line of the log
        measure(
            submission_of_spec("heuristic"), opponents_of([MEMBER]), sample=2, logging=Logging("test2", "a test", log)
        )
    assert len(lines_of(log)) == 2


def test_a_file_that_is_no_log_stays_as_it_is(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"format": 1}\n')
    with pytest.raises(ResultsError, match="line 1"):
        measure(submission_of_spec("nice"), opponents_of([MEMBER]), sample=40, logging=Logging("test2", "why", log))
    assert log.read_text() == '{"format": 1}\n'


def test_the_log_of_a_checkout_is_committed():
    log = IN_CHECKOUT / LOG.format("test2")
    assert logging_of([MEMBER], IN_CHECKOUT / "rows.jsonl", " why ", None) == Logging("test2", "why", log)
    for line in lines_of(log):
        assert tuple(line) == KEYS


def test_the_roster_is_played_on_its_own_sample(tmp_path):
    logging = Logging("test2", "a test", tmp_path / "log.jsonl")
    row = measure(submission_of_spec("heuristic"), SOME, logging=logging)
    protocol = row["benchmark"]
    assert (protocol["number_of_scenarios"], protocol["every_scenario"], protocol["replicates"]) == (SAMPLE, False, 1)
    assert row["figures"]["games"] == len(SOME.partners) * 2 * SAMPLE
    more = measure(submission_of_spec("nice"), SOME, sample=5000, logging=logging)
    assert more["benchmark"] == protocol
    assert len(lines_of(tmp_path / "log.jsonl")) == 2


def test_without_negmas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "negmas", None)  # as where it is not installed
    with pytest.raises(MissingLibrary, match=r"\[negmas\]"):
        seat_occupant(next(member for member in roster(TEST2) if author_of(member) == "negmas"))


def test_rows_of_the_former_roster_test_are_shown_as_dev2(tmp_path):
    row = measure(submission_of_spec("heuristic"), opponents_of(["linear"]), sample=40)
    own = {**row["submission"], "met": "known: 3 in its past, none of the roster test"}
    for number, sha256 in enumerate((load_rosters().hashes[DEV2], members_hash(["linear"]))):
        old = {**row, "submission": own, "benchmark": {**row["benchmark"], "roster": "test", "roster_sha256": sha256}}
        append(tmp_path / f"{number}.jsonl", seal_row(old))
    text = (tmp_path / "0.jsonl").read_text()
    renamed, other = read([tmp_path / "0.jsonl", tmp_path / "1.jsonl"])
    assert renamed["benchmark"]["roster"] == DEV2 and renamed["submission"]["met"].endswith("none of the roster dev2")
    assert other["benchmark"]["roster"] == "test"
    assert (tmp_path / "0.jsonl").read_text() == text
