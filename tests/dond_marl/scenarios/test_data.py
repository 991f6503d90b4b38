"""The published data files: verified, or refused with the file and what to do."""

from __future__ import annotations

import functools
import http.server
import re
import shutil
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dond_marl.scenarios.data import (
    CHECKSUMS,
    DataError,
    FetchError,
    checksum,
    fetch,
    load_dialogue_scenarios,
    load_dialogues,
    load_self_play,
)
from tests.command import in_process

ADVICE = r"dond data fetch --data-dir .* or download https://raw\.githubusercontent\.com/\S+ and place it at .*data_dir"


@pytest.fixture
def copy(data_dir, tmp_path):
    """Put a changed copy of a published file into a folder of its own; the folder."""

    def changed(name: str, change) -> Path:
        content = (data_dir / name).read_bytes()
        (tmp_path / name).write_bytes(change(content))
        return tmp_path

    return changed


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


# --- Damaged files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["selfplay.txt", "val.txt"])
def test_changed_digit_is_found(copy, name):
    load, arguments = (load_self_play, ()) if name == "selfplay.txt" else (load_dialogues, ("val",))
    message = refusal(load, *arguments, copy(name, lambda content: content.replace(b"1 4", b"1 5", 1)))
    assert "not the published file" in message and CHECKSUMS[name][0] in message


@pytest.mark.parametrize("change", [lambda c: c.replace(b"\n", b"\r\n"), lambda c: c[:-1]])
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


def test_an_unknown_split_of_the_dialogues_is_refused(tmp_path):
    with pytest.raises(DataError, match="one of train, val, test"):
        load_dialogues("heldout", tmp_path)


# -- Fetching the data files, from a real web server on this machine---------------------------------------------


@pytest.fixture
def server(data_dir, tmp_path_factory, monkeypatch):
    """The published files on a web server: its ``folder``, its ``url``, and the files ``asked`` for."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    folder, asked = tmp_path_factory.mktemp("web"), []
    for name in CHECKSUMS:
        shutil.copy(data_dir / name, folder)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_request(self, *_: object) -> None:
            asked.append(self.path.removeprefix("/"))

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    make = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), make) as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.01,))
        thread.start()
        yield SimpleNamespace(folder=folder, url=f"http://127.0.0.1:{web.server_port}", asked=asked)
        web.shutdown()
        thread.join()


def script(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return in_process("data", "fetch", *arguments, cwd=cwd)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_command_downloads_all_files_once(server, tmp_path):
    first = script("--data-dir", "some/data", "--url", server.url, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert first.stdout.count("downloading") == 4 and first.stdout.count("verified") == 4
    assert names(tmp_path / "some" / "data") == sorted(CHECKSUMS)
    assert len(load_self_play(tmp_path / "some" / "data")[0]) == 4086
    again = script("--data-dir", "some/data", "--url", server.url, cwd=tmp_path)
    assert again.returncode == 0 and again.stdout.count("there already") == 4
    assert len(server.asked) == 4, "nothing is downloaded twice"


def test_only_missing_and_wrong_files_are_downloaded(server, data_dir, tmp_path):
    for name in ("selfplay.txt", "val.txt"):
        (tmp_path / name).write_bytes((data_dir / name).read_bytes())
    (tmp_path / "test.txt").write_bytes(b"something else")
    said = []
    fetch(tmp_path, server.url, said.append)
    assert server.asked == ["train.txt", "test.txt"]
    assert any("test.txt: not the published file; it will be replaced" in line for line in said)
    assert (tmp_path / "test.txt").read_bytes() == (data_dir / "test.txt").read_bytes()


def test_wrong_download_never_gets_the_files_name(server, tmp_path):
    (server.folder / "train.txt").write_text("<html>Sign in to the hotel network</html>")
    with pytest.raises(FetchError, match=r"(?s)train\.txt.*not the published file.*SHA-256.*by hand"):
        fetch(tmp_path, server.url, lambda _: None)
    assert names(tmp_path) == ["selfplay.txt"], "what came before is whole, and no part is left behind"


def test_wrong_file_stays_until_the_right_one_is_downloaded(server, tmp_path):
    (tmp_path / "selfplay.txt").write_bytes(b"mine")
    (server.folder / "selfplay.txt").unlink()
    with pytest.raises(FetchError, match="404"):
        fetch(tmp_path, server.url, lambda _: None)
    assert (tmp_path / "selfplay.txt").read_bytes() == b"mine"


def test_no_network_explains_how_to_place_the_files_by_hand(tmp_path):
    # Nobody listens on port 9 of this machine.
    done = script("--data-dir", "data", "--url", "http://127.0.0.1:9/", cwd=tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "cannot be fetched" in done.stderr and "by hand" in done.stderr
    for name, known in CHECKSUMS.items():
        assert name in done.stderr and known[0] in done.stderr
    assert names(tmp_path / "data") == []


def test_invalid_address_is_refused(tmp_path):
    with pytest.raises(FetchError, match="by hand"):
        fetch(tmp_path, "file:///etc", lambda _: None)
    assert names(tmp_path) == []
