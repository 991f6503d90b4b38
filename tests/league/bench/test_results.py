"""Results files: appended and compressed rows are read back, a torn last line is cut off, damage is named."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.errors import InputError
from league.bench.results import FORMAT, ResultsError, append, compressed, has_results, read, seal_row, store
from tests.league.bench.made_up import made_up_row

NAMES = st.text(min_size=1, max_size=20)


def row(name: str = "somebody", **figures: float) -> dict:
    """A line with nothing in it but a name."""
    empty = {"format": FORMAT, "benchmark": {}, "code": {}, "cells": [], "answers": {}}
    return seal_row({**empty, "submission": {"name": name}, "figures": figures, "clock": {"seconds": 1.0}})


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


@given(st.integers(min_value=1))
def test_unfinished_last_line_is_cut_off(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("results") / "bench.jsonl"
    append(path, row("one"))
    whole = path.read_bytes()
    torn = whole[: cut % (len(whole) - 2) + 1]
    path.write_bytes(whole + torn)
    assert [each["submission"]["name"] for each in read([path])] == ["one"]
    append(path, row("two"))
    assert [each["submission"]["name"] for each in read([path])] == ["one", "two"]
    assert path.read_bytes().startswith(whole) and path.read_bytes().count(b"\n") == 2


def test_last_line_without_line_end_stays(tmp_path):
    path = tmp_path / "bench.jsonl"
    append(path, row("one"))
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert [each["submission"]["name"] for each in read([path])] == ["one"]
    append(path, row("two"))
    assert [each["submission"]["name"] for each in read([path])] == ["one", "two"]


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


def test_missing_file_and_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "bench.jsonl"
    with pytest.raises(ResultsError, match=str(path)):
        read([path])
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(InputError, match="line 1"):
        read([path])


@pytest.mark.slow
def test_several_processes_append_whole_lines(tmp_path):
    path = tmp_path / "bench.jsonl"
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        list(pool.map(_append_some, [path] * 2, ["a", "b"]))
    names = [each["submission"]["name"] for each in read([path])]
    assert sorted(names) == ["a"] * 20 + ["b"] * 20


def _append_some(path: Path, name: str) -> None:
    for _ in range(20):
        append(path, row(name))


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


def test_damaged_compressed_file_is_refused_and_stays(tmp_path):
    path = tmp_path / "bench.jsonl"
    append(path, made_up_row("mine", 1, POINTS))
    store([path])
    damaged = compressed(path).read_bytes()[:-100]
    compressed(path).write_bytes(damaged)
    append(path, made_up_row("mine", 2, POINTS))
    for attempt in (lambda: read([path]), lambda: store([path])):
        with pytest.raises(ResultsError, match=r"bench\.jsonl\.xz: damaged"):
            attempt()
    assert path.is_file() and compressed(path).read_bytes() == damaged
