"""Results files: appended and stored rows are read back, a torn last line is cut off, damage is named by its line."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.errors import InputError, MissingLibrary
from league.bench.protocol import HEADLINE
from league.bench.results import FORMAT, STORED, ResultsError, append, has_results, read, seal_row, store, stored_names
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


def stored_file(folder: Path, name: str, *rows: dict) -> Path:
    """A results file of these rows that was moved to the table of its folder."""
    for each in rows:
        append(folder / name, each)
    store([folder / name])
    return folder / name


def test_stored_rows_are_equal_and_come_before_new_lines(tmp_path):
    pytest.importorskip("pyarrow")
    one, two, new = (made_up_row("mine", seed, POINTS) for seed in (1, 2, 3))
    two["cells"][0] |= {"margin": {HEADLINE: 0.1}, "reference": {HEADLINE: None}, "reference_exact": False}
    two["cells"][1] |= {"deal": None, "reference": {HEADLINE: 7.5}, "reference_exact": True}
    two = seal_row(two)
    path = stored_file(tmp_path, "bench.jsonl", one, two)
    other = stored_file(tmp_path, "other.jsonl", new)
    assert stored_names(tmp_path) == ["bench.jsonl", "other.jsonl"] and not path.exists() and has_results(path)
    assert read([path]) == [one, two] and read([other]) == [new]
    append(path, new)
    assert read([path]) == [one, two, new]
    store([path])
    assert read([path, other]) == [one, two, new, new]
    assert not has_results(tmp_path / "none.jsonl")
    with pytest.raises(ResultsError, match="no such results file"):
        read([tmp_path / "none.jsonl"])


def test_row_that_a_table_would_change_stays_a_line(tmp_path):
    pytest.importorskip("pyarrow")
    whole = made_up_row("mine", 1, POINTS)
    other = seal_row({**whole, "cells": [{**whole["cells"][0], "points": {"another part": 1.0}}]})
    path = tmp_path / "bench.jsonl"
    for each in (whole, other):
        append(path, each)
    with pytest.raises(ResultsError, match="without loss"):
        store([path])
    assert read([path]) == [whole, other] and [each.name for each in tmp_path.iterdir()] == ["bench.jsonl"]


def test_damaged_table_and_missing_library(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    path = stored_file(tmp_path, "bench.jsonl", made_up_row("mine", 1, POINTS))
    table = tmp_path / STORED
    table.write_bytes(table.read_bytes()[:-100])
    with pytest.raises(ResultsError, match=f"{STORED}: damaged"):
        read([path])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingLibrary, match=r"\[frames\]"):
        read([path])
