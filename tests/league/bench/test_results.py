"""The results file and the log of held-out evaluations."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl.errors import InputError
from league.api import benchmark
from league.bench.held_out import IN_CHECKOUT, KEYS, LOG, SAMPLE, Logging, logging_of
from league.bench.results import FORMAT, ResultsError, append, has_results, read, seal_row, store
from league.bench.run import Opponents, measure, opponents_of, submission_of_spec
from league.bench.table import leaderboard
from partners.rosters import DEV2, TEST2, author_of, load_rosters, members_hash, roster
from tests.command import dond
from tests.league.bench.made_up import made_up_row

NAMES = st.text(min_size=1, max_size=20)


def row(name: str = "somebody", **figures: float) -> dict:
    """A line with nothing in it but a name."""
    empty = {"format": FORMAT, "benchmark": {}, "code": {}, "cells": [], "answers": {}}
    return seal_row({**empty, "submission": {"name": name}, "figures": figures, "clock": {"seconds": 1.0}})


@settings(max_examples=20)
@given(st.lists(NAMES, max_size=6))
def test_lines_come_back_as_they_were_written(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("results") / "deep" / "bench.jsonl"
    for name in names:
        append(path, row(name))
    assert [each["submission"]["name"] for each in read([path] if names else [])] == names


def test_the_checksum_covers_everything_but_the_clock():
    one = row(points=1.0)
    assert seal_row({**one, "clock": {"seconds": 9.0}})["sha256"] == one["sha256"]
    assert seal_row({**one, "figures": {"points": 2.0}})["sha256"] != one["sha256"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "JSON"),
        ("[1]", "JSON"),
        ('{"format": 99}', "format"),
        (json.dumps({"format": FORMAT}), "submission"),
        (json.dumps({**row(points=1.0), "figures": {"points": 9.0}}), "SHA-256"),
        ('{"format": ' + "[" * 5000, "JSON"),
    ],
)
def test_a_damaged_line_is_refused_by_its_number_and_nothing_is_added(tmp_path, line, said):
    path = tmp_path / "bench.jsonl"
    append(path, row())
    path.write_text(path.read_text() + line + "\n")
    before = path.read_bytes()
    for attempt in (lambda: read([path]), lambda: append(path, row())):
        with pytest.raises(InputError, match=rf"line 2: .*{said}"):
            attempt()
    assert path.read_bytes() == before


POINTS = {"linear": (5.0, 6.0), "sniper(fair=0.3)": (4.0, 5.25)}


def test_compressed_rows_are_equal_and_come_before_new_lines(tmp_path):
    one, two, new = (made_up_row("mine", seed, POINTS) for seed in (1, 2, 3))
    path, other = tmp_path / "bench.jsonl", tmp_path / "other.jsonl"
    for each in (one, two):
        append(path, each)
    store([path])
    assert not path.exists() and has_results(path) and not has_results(other)
    assert read([path]) == [one, two]
    append(path, new)
    assert read([path]) == [one, two, new]
    append(other, new)
    store([path, other])
    assert read([path, other]) == [one, two, new, new]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bench.jsonl.xz", "other.jsonl.xz"]
    with pytest.raises(ResultsError, match="no such results file"):
        read([tmp_path / "none.jsonl"])


# -- Evaluations on test2


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
