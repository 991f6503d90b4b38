"""Files: paths and folders of the user, bounded reading, JSON lines after a torn one, files of killed writes."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from dond_marl.errors import SHOWN, InputError, quote, shorten
from dond_marl.files import (
    append_lines,
    atomic_replace,
    cache_folder,
    read_bytes,
    read_json_lines,
    remove_temporaries,
    user_path,
)

WHOLE = '{"a": 1}\n{"a": 2}\n'
TORN = [b"\n \n", b'{"a', '{"a": "\u00e9'.encode()[:-1], b"\0\0\0"]


@pytest.mark.parametrize("torn", TORN)
def test_torn_line_is_passed_over_and_swallows_no_row(tmp_path, torn):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(WHOLE.encode() + torn)
    assert read_json_lines(path) == [{"a": 1}, {"a": 2}]
    assert len(append_lines(path, ['{"a": 3}', '{"a": 4}'])) == 2
    assert path.read_text() == WHOLE + '{"a": 3}\n{"a": 4}\n'


@pytest.mark.parametrize("last", ['{"a": 3}', "notes of mine"])
def test_whole_line_without_line_end_stays(tmp_path, last):
    path = tmp_path / "rows.jsonl"
    path.write_text(WHOLE + last)
    append_lines(path, ["{}"])
    assert path.read_text() == f"{WHOLE}{last}\n{{}}\n"


@pytest.mark.parametrize("line", ["{", "[1]"])
def test_unreadable_line_in_the_middle_is_named(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"a": 1}}\n{line}\n{{"a": 2}}\n')
    with pytest.raises(InputError, match=r"rows\.jsonl, line 2"):
        read_json_lines(path)


def test_text_of_a_row_may_hold_any_line_separator(tmp_path):
    row = {"a": "\u2028\u2029\x85\x0b\x0c\x1c\r\n"}
    append_lines(tmp_path / "rows.jsonl", [json.dumps(row, ensure_ascii=False)] * 2)
    assert read_json_lines(tmp_path / "rows.jsonl") == [row, row]


def append_in_threads(path: Path) -> None:
    """Append 20 rows in each of 4 threads."""

    def append(thread: int) -> None:
        for number in range(20):
            append_lines(path, [json.dumps({"row": [thread, number]})])

    threads = [threading.Thread(target=append, args=[thread]) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_append_whole_lines(tmp_path):
    path = tmp_path / "rows.jsonl"
    append_in_threads(path)
    assert sorted(row["row"] for row in read_json_lines(path)) == [[a, b] for a in range(4) for b in range(20)]


def test_only_files_of_unfinished_writes_are_removed(tmp_path):
    kept = ["config.yaml", ".config.yaml.1234.tmp", ".mine.tmp", "config.yaml.0123456789abcdef.tmp"]
    for name in kept:
        (tmp_path / name).touch()
    writing = atomic_replace(tmp_path / "config.yaml")
    writing.__enter__()  # never finished, as after a kill
    assert len(list(tmp_path.iterdir())) == len(kept) + 1
    remove_temporaries(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    remove_temporaries(tmp_path / "none")


@pytest.fixture
def no_variables(monkeypatch, tmp_path):
    for name in ("DOND_MARL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_home_of_an_unknown_user_is_refused(no_variables, tmp_path):
    assert user_path("~/x") == tmp_path / "x" and user_path("a/~/x") == Path("a/~/x")
    with pytest.raises(InputError, match="~nosuch/x"):
        user_path("~nosuch/x")


def test_relative_cache_folders_are_ignored(no_variables, monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / ".cache" / "dond-marl"
    for relative in ("relative", "", "~nosuch/x"):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        monkeypatch.setenv("DOND_MARL_CACHE", relative)
        assert cache_folder() == tmp_path / ".cache" / "dond-marl"
    monkeypatch.setenv("XDG_CACHE_HOME", "/shared")
    assert cache_folder() == Path("/shared/dond-marl")
    monkeypatch.setenv("DOND_MARL_CACHE", "/shared")
    assert cache_folder() == Path("/shared")
    monkeypatch.setenv("DOND_MARL_CACHE", "~/mine")
    assert cache_folder() == tmp_path / "mine"


def test_only_regular_files_within_the_bound_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "large").write_bytes(b"x" * 101)
    for name in (".", "pipe", "endless", "large"):
        with pytest.raises(OSError):
            read_bytes(tmp_path / name, 100)
    assert len(read_bytes(tmp_path / "large", 101)) == 101


# -- Values quoted in messages


def test_a_message_says_how_long_a_text_is_and_looks_at_the_beginning_of_anything_else_alone():
    assert quote("x" * 100_000) == f"'{'x' * SHOWN}'… (100,000 characters)"
    assert quote(10**5000) == "a whole number of 16,610 bits" and quote(7) == "7" and quote("seven") == "'seven'"
    for value in ([0] * 10**6, {n: n for n in range(1000)}, [[[[[[1]]]]]], ["x" * 1000] * 1000, "\ud800\n" * 500):
        assert len(quote(value)) <= 2 * SHOWN and quote(value).isprintable()
    assert shorten(f"no {'y' * 5000}: give\nanother") == f"no {'y' * SHOWN}… (5,001 characters) give\nanother"
    assert shorten("as it is") == "as it is" and len(shorten("a b " * 5000)) < 120
