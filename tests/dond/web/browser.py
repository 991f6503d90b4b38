"""Shared by the tests of the pages: copies of a league, the served pages, a headless Chromium."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from dond_marl.game import Act, Action, Scenario
from dond_marl.records.record import GameRecord, from_json
from tests.command import HERE, PROGRAM

ROOT = Path(__file__).resolve().parents[3]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDE, NARROW = {"width": 1280, "height": 860}, {"width": 360, "height": 780}
PATIENCE = 600  # seconds until the server answers; a slow machine is no failure
# Names that a page might obey: markup, a script, a template, an attribute's end.
HOSTILE = ("<img src=x onerror=window.pwned=1>", "<script>window.pwned=1</script>", "{{pwned}}", "\" onfocus='pwned()'")

# 1 book, 2 hats, 2 balls, worth 4, 1, 2 to seat_0 and 0, 4, 1 to seat_1: the book and the balls for the hats.
SCENARIO = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
TALK = (Action(Act.PROPOSE, (1, 1, 2)), Action(Act.INSIST, (0, 2, 0)), Action(Act.AGREE))


def as_after(run: Path, rounds: int, copy: Path) -> None:
    """Write into ``copy`` the ledger of ``run`` as it was after ``rounds`` rounds; called again, it grows."""
    copy.mkdir(parents=True, exist_ok=True)
    if not (copy / "ledger.sqlite").exists():
        with (
            closing(sqlite3.connect(run / "ledger.sqlite")) as source,
            closing(sqlite3.connect(copy / "ledger.sqlite")) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode = WAL")
            for table in _by_round(target):
                target.execute(f"DELETE FROM {table} WHERE round >= 0")
            target.execute("DELETE FROM members WHERE born > 0")
            target.commit()
    with closing(sqlite3.connect(copy / "ledger.sqlite")) as target:
        target.execute("ATTACH ? AS whole", (str(run / "ledger.sqlite"),))
        with target:
            for table in _by_round(target):
                target.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM whole.{table} WHERE round < ?", (rounds,))
            target.execute("INSERT OR IGNORE INTO members SELECT * FROM whole.members WHERE born <= ?", (rounds,))


def change_seed(run: Path, seed: int) -> None:
    """Make a run another seed of its config."""
    with closing(sqlite3.connect(run / "ledger.sqlite")) as ledger, ledger:
        (text,) = ledger.execute("SELECT value FROM notes WHERE key = 'config'").fetchone()
        other = re.sub(r"\bseed: \d+", f"seed: {seed}", text, count=1)
        ledger.execute("UPDATE notes SET value = ? WHERE key = 'config'", (other,))


def _by_round(ledger: sqlite3.Connection) -> list[str]:
    tables = [name for (name,) in ledger.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return [name for name in tables if "round" in {row[1] for row in ledger.execute(f"PRAGMA table_info({name})")}]


def missing() -> str | None:
    """Why no browser test can run here, ``None`` if they can."""
    if CHROMIUM is None:
        return "no Chromium is installed: apt-get install chromium"
    for library in ("starlette", "playwright", "axe_playwright_python"):
        try:
            __import__(library)
        except ModuleNotFoundError:
            return f"{library} is not installed: it comes with the [dev] extra"
    return None


class Server:
    """A command that serves pages, in a process of its own: ``words`` without ``--port``."""

    def __init__(self, folder: Path, *words: str, host: str = "127.0.0.1") -> None:
        with socket.socket() as probe:
            probe.bind((host, 0))
            port = probe.getsockname()[1]
        self.address, self.log, self._folder = f"http://{host}:{port}", folder / "server.log", folder
        self._command = [*PROGRAM, *words, "--port", str(port)]
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self.log.open("a") as file:
            self.process = subprocess.Popen(
                self._command, cwd=self._folder, stdout=file, stderr=subprocess.STDOUT,
                env={**HERE, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.address}/static/style.css", timeout=5).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"the pages are not served: {self.log.read_text()[-2000:]}")

    def end(self, stop: str, code: int) -> None:
        """Stop it by a signal. Whatever went wrong in the server fails here."""
        self.process.send_signal(signal.Signals[stop])
        ended = self.process.wait()
        assert "Traceback" not in self.log.read_text(), self.log.read_text()
        assert ended == code, self.log.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def serving(
    folder: Path, *arguments: str, host: str = "127.0.0.1", stop: str = "SIGINT", code: int = 130
) -> Iterator[str]:
    """The pages over the files in ``folder``; their address."""
    (folder / "server.log").unlink(missing_ok=True)
    server = Server(folder, "web", "--no-browser", *arguments, host=host)
    try:
        yield server.address
    finally:
        server.end(stop, code)


def found_by_axe(page: Any) -> list[tuple[str, list[object]]]:
    """What axe finds that keeps people out, by rule and place, and whether the page can be scrolled sideways."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    found = [
        (each["id"], [node["target"] for node in each["nodes"]]) for each in Axe().run(page).response["violations"]
    ]
    fits = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return found if fits else [*found, ("it can be scrolled sideways", [])]


@contextmanager
def browsing() -> Iterator[Any]:
    """A headless browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # The sandbox needs rights that a container may not give; only our own pages are looked at.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def begin(page: Any, partner: str, seat: str = "0", seed: str = "1030", **fields: str) -> None:
    """Begin a game with the partner of that name."""
    page.get_by_text("Another partner", exact=True).click()
    page.get_by_label("Type a part of a name").fill(partner)
    page.get_by_label("Who opens").select_option(seat)
    page.get_by_text("Rules and chance").click()
    page.get_by_label("Seed").fill(seed)
    for label, value in fields.items():
        page.get_by_label(label.replace("_", " ")).select_option(value)
    page.get_by_role("button", name="Deal the items").click()
    page.locator(".token").first.wait_for()


def games_in(folder: Path) -> list[GameRecord]:
    book = folder / "runs" / "human" / "games.jsonl"
    return [from_json(line) for line in book.read_text().splitlines()] if book.exists() else []
