"""Fetching the data files, from a real web server on this machine."""

from __future__ import annotations

import http.server
import subprocess
import threading
from pathlib import Path

import pytest

from dond_marl.scenarios.data import CHECKSUMS, FetchError, fetch, load_self_play
from tests.command import in_process


class Server:
    """Serves ``content`` by file name, and counts what was asked; some names can be made to misbehave."""

    def __init__(self, content: dict[str, bytes]) -> None:
        self.content, self.asked, self.cut_short = content, [], set()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.rsplit("/", 1)[-1]
                outer.asked.append(name)
                if name not in outer.content:
                    self.send_error(404)
                    return
                body = outer.content[name]
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if name in outer.cut_short else body)

            def log_message(self, *_: object) -> None:
                pass

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/files"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server(data_dir, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server({name: (data_dir / name).read_bytes() for name in CHECKSUMS})
    yield server
    server.close()


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


@pytest.mark.parametrize("kind", ["changed", "cut short", "a web page"])
def test_wrong_download_never_gets_the_files_name(server, tmp_path, kind):
    body = server.content["train.txt"]
    server.content["train.txt"] = {
        "changed": body[:100] + b"!" + body[101:],
        "cut short": body,
        "empty": b"",
        "a web page": b"<html>Sign in to the hotel network</html>",
    }[kind]
    if kind == "cut short":
        server.cut_short.add("train.txt")
    with pytest.raises(FetchError, match=r"(?s)train\.txt.*not the published file.*SHA-256.*by hand"):
        fetch(tmp_path, server.url, lambda _: None)
    assert names(tmp_path) == ["selfplay.txt"], "what came before is whole, and no part is left behind"


def test_wrong_file_stays_until_the_right_one_is_downloaded(server, tmp_path):
    (tmp_path / "selfplay.txt").write_bytes(b"mine")
    del server.content["selfplay.txt"]
    with pytest.raises(FetchError, match="the server says 404"):
        fetch(tmp_path, server.url, lambda _: None)
    assert (tmp_path / "selfplay.txt").read_bytes() == b"mine"


def test_no_network_explains_how_to_place_the_files_by_hand(tmp_path):
    # Nobody listens on port 9 of this machine.
    done = script("--data-dir", "data", "--url", "http://127.0.0.1:9/", cwd=tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "cannot be reached" in done.stderr and "by hand" in done.stderr
    for name, known in CHECKSUMS.items():
        assert name in done.stderr and known[0] in done.stderr
    assert names(tmp_path / "data") == []


@pytest.mark.parametrize("url", ["file:///etc", "nonsense", "http://[::1"])
def test_invalid_address_is_refused(tmp_path, url):
    with pytest.raises(FetchError, match="by hand"):
        fetch(tmp_path, url, lambda _: None)
    assert names(tmp_path) == []
