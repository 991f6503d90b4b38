"""Who may come in to the pages, and with how much: a hostile client over real sockets, and whom visitors may name."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="nicegui is not installed: it comes with the [ui] extra")
websockets = pytest.importorskip("websockets", reason="websockets comes with the [ui] extra")

from nicegui import Client, core, ui  # noqa: E402
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from dond_marl.game import Act, Action, Rules, Scenario, State, apply  # noqa: E402
from dond_marl.occupants import OccupantNameError  # noqa: E402
from dond_marl.records.record import record_of, to_line  # noqa: E402
from league.web.allowed import LARGEST_FILE, Allowed  # noqa: E402
from league.web.aside import MOST, Busy, aside  # noqa: E402
from league.web.door import LONGEST_MESSAGE, PAGES, WINDOWS, is_of_a_page  # noqa: E402
from league.web.frame import Desk  # noqa: E402
from league.web.occupants import People  # noqa: E402
from league.web.play.page import PlayPage  # noqa: E402
from league.web.play.setup_form import Wish  # noqa: E402
from league.web.server import is_loopback  # noqa: E402
from tests.command import run_dond  # noqa: E402
from tests.league.web.browser import PATIENCE, serving  # noqa: E402

SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
QUIET = 0.5  # seconds in which nothing more comes
EVENT = re.compile(r'"?(\d+)"?:\{[^{}]*?"events":\[\{"listener_id":"([^"]+)","type":"submit')


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Pages whose log stays without a traceback, whatever is done to them here: that is looked at in the end."""
    with serving(tmp_path_factory.mktemp("door"), "--pause", "0") as at:
        yield at


def status(url: str, method: str = "GET", **headers: str) -> int:
    """The status of an answer; redirects are not followed."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.build_opener(Stay).open(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


class Kept(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for the answer."""

    def http_error_303(self, req, fp, code, msg, headers):
        return fp


def window(address: str) -> tuple[str, str]:
    """A page's client id, and the message that its browser sends when its form is submitted."""
    with urllib.request.urlopen(f"{address}/") as answer:
        text = unescape(answer.read().decode())
    client = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text[text.index("client_id") :])
    submit = EVENT.search(text)
    assert client is not None and submit is not None
    event = {"id": int(submit[1]), "client_id": client[0], "listener_id": submit[2], "args": []}
    return client[0], f"42{json.dumps(['event', event])}"


@contextmanager
def joined(address: str, client: str = "", tab: str = "one") -> Iterator[Any]:
    """A socket, in the name of a window where one is given."""
    named = f"&client_id={client}&tab_id={tab}&document_id=d&next_message_id=0&implicit_handshake=true"
    with connect(f"ws{address[4:]}{SOCKET}{named if client else ''}", max_size=None) as socket:
        assert socket.recv().startswith("0")
        socket.send("40")
        assert socket.recv().startswith("40")
        yield socket


def heard(socket: Any) -> int:
    """How many messages have come until it is quiet."""
    number = 0
    try:
        while True:
            number += socket.recv(timeout=QUIET) != "2"  # a ping
    except (TimeoutError, ConnectionClosed):
        return number


def is_open(socket: Any) -> bool:
    try:
        socket.send("3")
        socket.recv(timeout=QUIET)
    except TimeoutError:
        return True
    except ConnectionClosed:
        return False
    return True


def test_a_window_is_spoken_for_only_by_its_own_socket(address):
    victim, submit = window(address)
    thief, _ = window(address)
    with joined(address, victim) as own, joined(address, thief, "two") as other:
        heard(own)
        heard(other)  # what a page says to its own window
        other.send(submit)  # in the name of the victim, whose client id was stolen
        forged = {"client_id": victim, "tab_id": "two", "document_id": "x"}
        other.send(f"42{json.dumps(['handshake', forged])}")
        assert heard(own) == 0
        assert heard(other) == 0
        own.send(submit)
        assert heard(own) > 0  # the game is laid out


@pytest.mark.parametrize("origin", ["http://somebody.example", "null", "http://localhost:1"])
def test_another_sites_page_is_let_in_by_no_way(address, origin):
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(f"ws{address[4:]}{SOCKET}", additional_headers={"Origin": origin}),
    ):
        pass
    assert refused.value.response.status_code == 403
    assert status(address, Origin=origin) == 403


def test_only_pages_are_asked_for_and_only_read(address):
    assert status(f"{address}/") == 200
    assert status(f"{address}/", Host="somebody.example") == 400
    assert status(f"{address}/", "POST") == 405
    assert status(f"{address}{SOCKET.replace('websocket', 'polling')}") == 400
    picture = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}
    assert status(f"{address}/", **picture) == 403
    assert status(f"{address}/", **{**picture, "Sec-Fetch-Mode": "navigate"}) == 200  # a link


MALFORMED = [
    "", "4", "42", "42[", "42{}", "42[]", '42["event"]', '42["event",1]', '42["nothing",{}]', '42["connect",{}]',
    "42" + "[" * 20_000, '42["event",' + "[" * 20_000, '451-["event",{"_placeholder":true,"num":0}]',
    "45999999999-[]", "9", "6", "0", "1", "40/other,", "bAAAA", "\x00", b"\x00\xff",
]  # fmt: skip
HARMLESS = [
    '42["event",{}]', '42["event",{"client_id":1}]', '42["handshake",{}]', '42["log",{"level":"error","message":"x"}]',
    '42["ack",{"client_id":"CLIENT"}]', '42["ack",{"client_id":"CLIENT","next_message_id":"x"}]',
    '42["javascript_response",{"client_id":"CLIENT"}]', '42["handshake",{"client_id":"CLIENT"}]',
    '42["event",{"client_id":"CLIENT","id":"x","listener_id":[],"args":[1]}]',
    '42["log",{"client_id":"CLIENT","level":"error","message":"x"}]',
]  # fmt: skip


def test_malformed_messages_cut_off_who_sends_them_and_write_nothing(address):
    for message in MALFORMED:
        with joined(address) as socket:
            socket.send(message)
            assert not is_open(socket), message[:40]
    client, submit = window(address)
    with joined(address, client) as socket:
        for message in HARMLESS:
            socket.send(message.replace("CLIENT", client))
        heard(socket)
        socket.send(submit)
        assert heard(socket) > 0


def test_what_a_page_sends_passes_and_nothing_else():
    assert is_of_a_page('42["event",{"id":1}]')
    assert is_of_a_page('420["handshake",{"client_id":"of a prefetched page"}]')
    assert is_of_a_page("3")
    assert not any(is_of_a_page(message) for message in MALFORMED if isinstance(message, str))
    assert not is_of_a_page(None)


def test_large_messages_and_floods_are_cut_off_and_leave_no_memory_behind(address):
    process = _server(address)
    before = _memory(process)
    for _ in range(4):
        with joined(address) as socket, pytest.raises(ConnectionClosed):
            socket.send("42" + json.dumps(["event", {"a": "a" * 20_000_000}]))  # compressed it would be small
            socket.recv()
    with joined(address) as socket, pytest.raises(ConnectionClosed):
        for _ in range(5_000):
            socket.send('42["event",{}]')
        while True:
            socket.recv()
    assert LONGEST_MESSAGE < 2**20
    assert _memory(process) - before < 40 * 2**20  # two messages' worth


def test_windows_are_counted_and_a_closed_one_makes_room(address):
    let_in = refused = 0
    with ExitStack() as windows:
        for _ in range(WINDOWS + 8):
            try:
                windows.enter_context(connect(f"ws{address[4:]}{SOCKET}"))
                let_in += 1
            except InvalidStatus:
                refused += 1
    assert refused >= 8
    assert let_in <= WINDOWS
    with joined(address):
        pass
    codes = [status(f"{address}/arena") for _ in range(PAGES + 8)]
    assert codes.count(503) >= 8
    assert status(f"{address}/static/style.css") == 200


def test_a_key_is_asked_for_where_others_can_come_in(tmp_path):
    with serving(tmp_path, "--key") as at:
        printed = (tmp_path / "server.log").read_text()
        key = re.search(r"\?key=([\w-]{32})", printed)
        assert key is not None
        assert status(f"{at}/") == 403
        assert status(f"{at}/?key=wrong") == 403
        assert status(f"{at}/?key={key[1]}") == 303
        with pytest.raises(InvalidStatus), connect(f"ws{at[4:]}{SOCKET}"):
            pass
        port = at.rsplit(":", 1)[1]
        assert status(f"{at}/", Cookie=f"dond_key_{port}={key[1]}") == 200
        assert status(f"{at}/", Cookie=f"dond_key_{port}=no") == 403
        with urllib.request.build_opener(Kept).open(f"{at}/?key={key[1]}") as answer:
            assert "samesite=lax" in answer.headers["set-cookie"].lower()  # a link in a mail leads here
        held = {"Cookie": f"dond_key_{port}={key[1]}", "Origin": "http://somebody.example"}
        assert status(f"{at}/", **held) == 403
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(f"ws{at[4:]}{SOCKET}", additional_headers=held),
        ):
            pass
        assert refused.value.response.status_code == 403
    assert is_loopback("127.0.0.1") and is_loopback("localhost") and is_loopback("::1")
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.1.7", "example.org")))  # there a key is asked for always


def test_every_loopback_address_is_answered_by_its_own_name(tmp_path):
    with serving(tmp_path, "--host", "127.0.0.2", host="127.0.0.2") as at:
        assert status(f"{at}/") == 200
        assert status(f"{at}/", Host="somebody.example") == 400


def test_files_that_are_slow_to_read_hold_up_who_asked_for_them_alone(tmp_path):
    state = apply(State(Scenario((1, 2, 3), ((4, 3, 0), (0, 2, 2))), Rules()), Action(Act.DISAGREE))
    line = to_line(record_of(state, ("heuristic", "pushover")))
    (tmp_path / "games.jsonl").write_text(f"{line}\n" * 10_000)
    with ExitStack() as held, serving(tmp_path, "--record", "games.jsonl") as at:
        with urllib.request.urlopen(f"{at}/replay") as answer:
            text = unescape(answer.read().decode())
        assert "Reading games.jsonl" in text  # the page is here before its games are
        client = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text[text.index("client_id") :])
        assert client is not None
        with joined(at, client[0]) as socket:
            while "10000. heuristic and pushover" not in socket.recv(timeout=PATIENCE):
                socket.send("3")
        for number in range(1, 7):  # ledgers that SQLite waits for, five seconds each
            place = tmp_path / "runs" / "quick" / f"{number:04}"
            place.mkdir(parents=True)
            ledger = held.enter_context(closing(sqlite3.connect(place / "ledger.sqlite")))
            ledger.execute("CREATE TABLE rounds (round)")
            ledger.execute("BEGIN EXCLUSIVE")
        codes: list[int] = []
        slow = threading.Thread(target=lambda: codes.append(status(f"{at}/")))
        slow.start()
        server = _server(at)
        while slow.is_alive() and not _has_open(server, "ledger.sqlite"):
            slow.join(0.01)
        assert status(f"{at}/league") == 200
        assert slow.is_alive()
        held.close()
        slow.join(PATIENCE)
        assert codes == [200]


def test_an_address_that_cannot_be_had_is_told_in_a_line():
    done = run_dond("web", "--host", "203.0.113.1", "--no-browser")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--host 203.0.113.1" in done.stderr


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_stop_ends_the_pages_with_windows_open(tmp_path, number, code):
    with ExitStack() as windows, serving(tmp_path, stop=number, code=code) as at:
        for _ in range(5):  # closed by nobody before the pages are
            windows.enter_context(connect(f"ws{at[4:]}{SOCKET}"))
    assert "stopped" in (tmp_path / "server.log").read_text()


# Whom visitors may name


@pytest.fixture
def place(tmp_path):
    """A folder that may be read, with things in it that may not."""
    inside = tmp_path / "runs"
    inside.mkdir()
    (tmp_path / "outside.json").write_text("{}")
    (inside / "link.json").symlink_to(tmp_path / "outside.json")
    (inside / "fine.json").write_text("{}")
    (inside / "huge.json").write_text("{}")
    with (inside / "huge.safetensors").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    os.mkfifo(inside / "pipe.json")
    return tmp_path


PLAIN = (
    "heuristic", "boulware(exponent=2)", "best_response(to=heuristic)", "mixture(of=zoo)", "llm",
    "expert(greedy=False)", "mixture(of=['heuristic', 'boulware(exponent=3)'], weights=[1, 2])",
)  # fmt: skip
CLOSED = (
    "checkpoint(path='/dev/zero')", "checkpoint(path='runs/pipe.json')", "checkpoint(path='runs/huge.json')",
    "checkpoint(path='outside.json')", "checkpoint(path='runs/../outside.json')", "checkpoint(path='runs/link.json')",
    "expert(path='/etc/passwd')", "llm(base_url='http://192.0.2.1/v1')", "llm(provider=groq)", "llm(prompt_path=x)",
    "best_response(to=checkpoint(path='/dev/zero'))", "mixture(of=['llm(provider=groq)'])",
    "mixture(of=[{'kind': 'checkpoint', 'path': '/dev/zero'}])", "expert(fallback=\"checkpoint(path='/dev/zero')\")",
    "checkpoint(path='a\\0b')", "mixture(of=[b'x'])", f"boulware(exponent={'9' * 400})",
)  # fmt: skip


def test_visitors_name_the_catalogue_and_checkpoints_under_the_given_folders(place, monkeypatch):
    monkeypatch.chdir(place)
    allowed = Allowed((Path("runs"),))
    for spec in (*PLAIN, "checkpoint(path='runs/fine.json')"):
        allowed.check(spec)
    for spec in CLOSED:
        with pytest.raises(OccupantNameError):
            allowed.check(spec)
    people = People([], allowed)
    for name in CLOSED[:3]:  # typed, and in a record that somebody made
        with pytest.raises(OccupantNameError):
            people.candidate("written", name)
        with pytest.raises(OccupantNameError):
            people.named(name)


def test_whoever_starts_the_pages_may_open_all_paths(place, monkeypatch):
    monkeypatch.chdir(place)
    allowed = Allowed((), anything=True)
    for spec in ("checkpoint(path='outside.json')", "llm(base_url='http://192.0.2.1/v1')"):
        allowed.check(spec)
    with pytest.raises(OccupantNameError, match="no occupant is called"):
        allowed.check("nobody")
    people = People([], allowed)
    for name in CLOSED[:3]:  # but a game from elsewhere, which is looked at unasked, names nothing of theirs
        with pytest.raises(OccupantNameError):
            people.closed().named(name)
    assert people.allowed.anything


def test_slow_work_of_one_visitor_keeps_no_other_waiting():
    """As many pieces as there are places are at work at the same time: each waits for all others to have begun."""
    together = threading.Barrier(MOST + 1)

    async def everybody() -> list[int]:
        work = [asyncio.create_task(aside(partial(together.wait, timeout=60))) for _ in range(MOST)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await aside(int)
        together.wait(timeout=60)
        return await asyncio.gather(*work)

    assert len(asyncio.run(everybody())) == MOST


def test_of_two_submits_the_first_is_played(tmp_path):
    async def both() -> str:
        core.loop = asyncio.get_running_loop()  # of the pages, which are not served here
        with Client(ui.page("")):
            table = PlayPage(Desk(list, tmp_path / "games.jsonl", tmp_path, None, 0), People([]))
            await asyncio.gather(table._begin(Wish("heuristic")), table._begin(Wish("pushover")))
            table._leave()
        return table._sitting.name

    assert asyncio.run(both()) == "heuristic"


def test_work_for_which_no_thread_is_to_be_had_takes_no_place():
    async def often() -> int:
        for _ in range(2 * MOST):
            with pytest.raises(Busy):
                await aside(int)
        threading.stack_size(0)
        return await aside(int)

    threading.stack_size(2**47)  # more than a process can have
    try:
        assert asyncio.run(often()) == 0
    finally:
        threading.stack_size(0)


def _server(address: str) -> int:
    """The process that serves the pages there."""
    port = address.rsplit(":", 1)[1]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"web" in words and port.encode() in words:
                return int(entry.name)
    raise AssertionError(f"no process serves {port}")


def _has_open(process: int, name: str) -> bool:
    """Whether a process has a file of that name open."""
    opened = Path(f"/proc/{process}/fd")
    for file in opened.iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            if file.readlink().name == name:
                return True
    return False


def _memory(process: int) -> int:
    """Bytes that a process holds."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024
