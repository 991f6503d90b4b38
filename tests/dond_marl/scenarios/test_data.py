"""The published data files: read whole and verified, or refused with the file, the line and what to do."""

from __future__ import annotations

import re
import shutil
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


def test_the_self_play_file_holds_4086_games_worth_ten_to_both(data_dir):
    counts, utilities = load_self_play(data_dir)
    assert counts.shape == (4086, 3) and utilities.shape == (4086, 2, 3)
    assert counts.dtype == utilities.dtype == np.int8
    assert (np.einsum("ni,nsi->ns", counts, utilities) == 10).all()
    assert counts.min() >= 1 and counts.max() <= 4 and set(counts.sum(axis=1)) == {5, 6, 7}


@pytest.mark.parametrize(("split", "size"), [("train", 10095), ("val", 1087), ("test", 1052)])
def test_each_dialogue_file_holds_the_published_number_of_dialogues(data_dir, split, size):
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


def test_a_relative_folder_is_relative_to_the_current_one(data_dir, monkeypatch):
    monkeypatch.chdir(data_dir.parent)
    assert len(load_self_play(data_dir.name)[0]) == 4086


# --- Damaged files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["selfplay.txt", "val.txt"])
def test_a_digit_changed_to_another_is_found_by_the_checksum_or_named_with_its_line(copy, name):
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


def test_a_flipped_bit_anywhere_is_refused(data_dir, tmp_path):
    content = (data_dir / "selfplay.txt").read_bytes()
    for number, place in enumerate(np.random.default_rng(0).integers(0, len(content), size=25).tolist()):
        folder = tmp_path / str(number)
        folder.mkdir()
        flipped = bytes([content[place] ^ (1 << number % 8)])
        (folder / "selfplay.txt").write_bytes(content[:place] + flipped + content[place + 1 :])
        refusal(load_self_play, folder)


@pytest.mark.parametrize("kept", [0, 1, 12, 13, 5_000, -2, -13])
def test_a_truncated_file_is_refused(copy, kept):
    refusal(load_self_play, copy("selfplay.txt", lambda content: content[:kept]))


def test_a_lost_line_is_named_as_the_first_pair_that_does_not_match(copy):
    message = refusal(load_self_play, copy("selfplay.txt", lambda content: content.split(b"\n", 1)[1]))
    assert re.search(r"selfplay\.txt:\d+: ", message)


def test_odd_number_of_lines_names_the_last_line(copy):
    message = refusal(load_self_play, copy("selfplay.txt", lambda content: content[:-1].rsplit(b"\n", 1)[0] + b"\n"))
    assert "selfplay.txt:8171: " in message and "odd" in message


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"", "six numbers"),
        (b"1 2 3 4 5 6 7", "six numbers"),
        (b"1 2 -1 4 1 0", "six numbers"),
        (b"1 2 \xff\xfe 4 1 0", "six numbers"),
        ("1 2 \u0663 4 1 0".encode(), "six numbers"),
        (b"1 99999999999999999999 1 4 1 0", "six numbers"),
        (b"1 2 1 11 1 0", r"0\.\.10"),
        (b"0 2 0 4 0 0", "at least one item"),
        (b"9" * 1_000_000, "six numbers"),
    ],
)
def test_a_bad_line_is_named_with_file_and_number(copy, line, complaint):
    message = refusal(load_self_play, copy("selfplay.txt", lines_changed(4242, lambda _: line)))
    assert re.search(rf"selfplay\.txt:4242: .*{complaint}", message)
    assert len(message) < 1_000


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda line: line.replace(b"</input>", b""), "no <input>"),
        (lambda line: line.replace(b"<dialogue>", b""), "no <dialogue>"),
        (lambda line: line.replace(b"<output>", b"<out>"), "no <output>"),
        (lambda line: line.replace(b"<partner_input>", b""), "no <partner_input>"),
        (lambda line: re.sub(rb"<input> \S+", b"<input> many", line), "<input> must be six numbers"),
        (lambda line: re.sub(rb"<partner_input> \S+", b"<partner_input> 10", line), "share one pool"),
        (lambda line: b"", "no <input>"),
    ],
)
def test_a_bad_dialogue_is_named_with_file_and_number(copy, change, complaint):
    message = refusal(load_dialogues, "val", copy("val.txt", lines_changed(77, change)))
    assert re.search(rf"val\.txt:77: .*{complaint}", message)


@pytest.mark.parametrize(
    "change", [lambda c: c.replace(b"\n", b"\r\n"), lambda c: c[:-1], lambda c: c[:-1].replace(b"\n", b"\r\n")]
)
def test_line_ends_of_another_system_are_read(copy, data_dir, change):
    for before, now in zip(load_self_play(data_dir), load_self_play(copy("selfplay.txt", change)), strict=True):
        assert np.array_equal(before, now)
    assert load_dialogues("val", copy("val.txt", change)) == load_dialogues("val", data_dir)


def test_line_ends_of_carriage_returns_are_refused(copy):
    refusal(load_self_play, copy("selfplay.txt", lambda content: content.replace(b"\n", b"\r")))


def test_a_line_separator_inside_a_line_does_not_shift_the_numbers(copy):
    message = refusal(
        load_dialogues,
        "val",
        copy(
            "val.txt",
            lambda c: lines_changed(77, lambda _: b"")(
                lines_changed(5, lambda line: line.replace(b"YOU:", b"YOU:\x0b \xe2\x80\xa8", 1))(c)
            ),
        ),
    )
    assert "val.txt:77: " in message


# --- Missing and unreadable -----------------------------------------------------------------------------------------


def test_missing_files_and_folders_are_refused(tmp_path):
    (tmp_path / "selfplay.txt").mkdir()
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert str(folder / "selfplay.txt") in refusal(load_self_play, folder)
    assert str(Path("data") / "val.txt") in refusal(load_dialogues, "val", tmp_path / "data")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that nobody can read from its start")
def test_unreadable_file_is_refused(tmp_path):
    (tmp_path / "selfplay.txt").symlink_to("/proc/self/mem")
    assert "selfplay.txt: cannot be read" in refusal(load_self_play, tmp_path)


def test_a_link_to_a_file_of_another_name_is_read(data_dir, tmp_path):
    shutil.copy(data_dir / "selfplay.txt", tmp_path / "05b7d66c")
    (tmp_path / "selfplay.txt").symlink_to("05b7d66c")
    assert len(load_self_play(tmp_path)[0]) == 4086


@pytest.mark.parametrize("split", ["heldout", "", "../test", None])
def test_an_unknown_split_of_the_dialogues_is_refused(split, tmp_path):
    with pytest.raises(DataError, match="one of train, val, test"):
        load_dialogues(split, tmp_path)


def test_refused_file_leaves_nothing(copy, data_dir):
    folder = copy("selfplay.txt", lines_changed(8000, lambda _: b"oops"))
    for _ in range(2):
        assert "selfplay.txt:8000" in refusal(load_self_play, folder)
    shutil.copy(data_dir / "selfplay.txt", folder / "good.txt")
    (folder / "good.txt").replace(folder / "selfplay.txt")
    assert len(load_self_play(folder)[0]) == 4086
