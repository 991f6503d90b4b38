"""The published data files: read whole and verified, or refused with the file, the line and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dond_marl.scenarios.data import (
    CHECKSUMS,
    DataError,
    checksum,
    load_dialogue_scenarios,
    load_dialogues,
    load_self_play,
)

ADVICE = r"dond data fetch --data-dir .* or download https://raw\.githubusercontent\.com/\S+ and place it at .*data_dir"


@pytest.fixture
def copy(data_dir, tmp_path):
    """Put a changed copy of a published file into a folder of its own; the folder."""

    def changed(name: str, change) -> Path:
        content = (data_dir / name).read_bytes()
        (tmp_path / name).write_bytes(change(content))
        return tmp_path

    return changed


def lines_changed(number: int, change):
    """A change of line ``number``, from 1."""

    def of(content: bytes) -> bytes:
        lines = content.split(b"\n")
        lines[number - 1] = change(lines[number - 1])
        return b"\n".join(lines)

    return of


def refusal(load, *arguments) -> str:
    with pytest.raises(DataError) as caught:
        load(*arguments)
    message = str(caught.value)
    assert re.search(ADVICE, message, re.DOTALL), message
    return message


# --- The real files -------------------------------------------------------------------------------------------------


def test_size_of_the_self_play_file(data_dir):
    counts, utilities = load_self_play(data_dir)
    assert counts.shape == (4086, 3) and utilities.shape == (4086, 2, 3)
    assert counts.dtype == utilities.dtype == np.int8
    assert (np.einsum("ni,nsi->ns", counts, utilities) == 10).all()
    assert counts.min() >= 1 and counts.max() <= 4 and set(counts.sum(axis=1)) == {5, 6, 7}


@pytest.mark.parametrize(("split", "size"), [("train", 10095), ("val", 1087), ("test", 1052)])
def test_sizes_of_the_dialogue_files(data_dir, split, size):
    dialogues = load_dialogues(split, data_dir)
    assert len(dialogues) == size
    for dialogue in dialogues:
        assert len(dialogue.counts) == len(dialogue.my_values) == len(dialogue.partner_values) == 3
        assert dialogue.words[0] in ("YOU:", "THEM:") and len(dialogue.output) == 6
    counts, utilities = load_dialogue_scenarios(split, data_dir)
    assert counts.shape == (size, 3) and utilities.shape == (size, 2, 3)
    assert (np.einsum("ni,nsi->ns", counts, utilities) == 10).all()


def test_every_file_is_one_of_the_known_ones(data_dir):
    for name, known in CHECKSUMS.items():
        assert checksum((data_dir / name).read_bytes()) in known


def test_relative_data_folder(data_dir, monkeypatch):
    monkeypatch.chdir(data_dir.parent)
    assert len(load_self_play(data_dir.name)[0]) == 4086


# --- Damaged files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["selfplay.txt", "val.txt"])
def test_changed_digit_is_found(copy, name):
    load, arguments = (load_self_play, ()) if name == "selfplay.txt" else (load_dialogues, ("val",))
    changed = lines_changed(
        11, lambda line: re.sub(rb"\d(?= )", lambda d: b"%d" % ((int(d[0]) + 1) % 5), line, count=1)
    )
    message = refusal(load, *arguments, copy(name, changed))
    assert f"{name}:1" in message, "the pools of line 11 and its other half differ"
    # A changed value leaves every line readable: only the checksum tells.
    changed = lines_changed(
        11, lambda line: re.sub(rb"(?<=\d )\d", lambda d: b"%d" % ((int(d[0]) + 1) % 5), line, count=1)
    )
    message = refusal(load, *arguments, copy(name, changed))
    assert "not the published file" in message and CHECKSUMS[name][0] in message


@pytest.mark.parametrize("kept", [0, 13, -13])
def test_truncated_file(copy, kept):
    refusal(load_self_play, copy("selfplay.txt", lambda content: content[:kept]))


def test_odd_number_of_lines_names_the_last_line(copy):
    message = refusal(load_self_play, copy("selfplay.txt", lambda content: content[:-1].rsplit(b"\n", 1)[0] + b"\n"))
    assert "selfplay.txt:8171: " in message and "odd" in message


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"", "six numbers"),
        (b"1 2 3 4 5 6 7", "six numbers"),
        (b"1 2 -1 4 1 0", "six numbers"),
        (b"1 2 1 11 1 0", r"0\.\.10"),
        (b"0 2 0 4 0 0", "at least one item"),
    ],
)
def test_bad_line_is_named(copy, line, complaint):
    message = refusal(load_self_play, copy("selfplay.txt", lines_changed(4242, lambda _: line)))
    assert re.search(rf"selfplay\.txt:4242: .*{complaint}", message)
    assert len(message) < 1_000


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda line: line.replace(b"</input>", b""), "no <input>"),
        (lambda line: re.sub(rb"<input> \S+", b"<input> many", line), "<input> must be six numbers"),
        (lambda line: re.sub(rb"<partner_input> \S+", b"<partner_input> 10", line), "share one pool"),
    ],
)
def test_bad_dialogue_is_named(copy, change, complaint):
    message = refusal(load_dialogues, "val", copy("val.txt", lines_changed(77, change)))
    assert re.search(rf"val\.txt:77: .*{complaint}", message)


@pytest.mark.parametrize(
    "change", [lambda c: c.replace(b"\n", b"\r\n"), lambda c: c[:-1], lambda c: c[:-1].replace(b"\n", b"\r\n")]
)
def test_line_ends_of_another_system_are_read(copy, data_dir, change):
    for before, now in zip(load_self_play(data_dir), load_self_play(copy("selfplay.txt", change)), strict=True):
        assert np.array_equal(before, now)
    assert load_dialogues("val", copy("val.txt", change)) == load_dialogues("val", data_dir)


# --- Missing and unreadable -----------------------------------------------------------------------------------------


def test_missing_files_and_folders_are_refused(tmp_path):
    (tmp_path / "selfplay.txt").mkdir()
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert str(folder / "selfplay.txt") in refusal(load_self_play, folder)
    assert str(Path("data") / "val.txt") in refusal(load_dialogues, "val", tmp_path / "data")


@pytest.mark.parametrize("split", ["heldout", None])
def test_an_unknown_split_of_the_dialogues_is_refused(split, tmp_path):
    with pytest.raises(DataError, match="one of train, val, test"):
        load_dialogues(split, tmp_path)
