"""Access to the pages: the guard, allowed names, background work, starting and stopping the server."""

from __future__ import annotations

import re
import socket
import threading
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

import pytest

testclient = pytest.importorskip("starlette.testclient", reason="the pages come with the [ui] extra")

from dond.web.guard import MAX_BODY, Secret  # noqa: E402
from dond.web.league_follower import Leagues  # noqa: E402
from dond.web.occupants import Desk, OccupantMenu  # noqa: E402
from dond.web.pages import application  # noqa: E402
from dond.web.server import is_loopback  # noqa: E402
from dond_marl.errors import UntrustedError  # noqa: E402
from dond_marl.game import Act, Action, Scenario, State, apply  # noqa: E402
from dond_marl.occupants import ANYTHING, OccupantNameError, Permission  # noqa: E402
from dond_marl.records.record import record_of, to_line  # noqa: E402
from tests.command import dond  # noqa: E402
from tests.dond.web.browser import serving  # noqa: E402

HERE = "http://127.0.0.1"


def pages(folder: Path, secret: Secret | None = None, loopback: str | None = "127.0.0.1"):
    """A client of the pages over a folder."""
    desk = Desk(list, folder / "games.jsonl", folder, None, 0)
    app = application(desk, Leagues(folder, None), None, secret, loopback)
    return testclient.TestClient(app, base_url=HERE, follow_redirects=False)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "somebody.example"}, 400),
        ({"origin": "http://somebody.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-dest": "image"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}, 200),  # a link
    ],
)
def test_foreign_requests_are_refused(tmp_path, headers, status):
    assert pages(tmp_path).get("/", headers=headers).status_code == status


def test_unknown_file_opens_no_other(tmp_path):
    state = apply(State(Scenario((1, 2, 3), ((4, 3, 0), (0, 2, 2)))), Action(Act.DISAGREE))
    (tmp_path / "games.jsonl").write_text(f"{to_line(record_of(state, ('heuristic', 'pushover')))}\n")
    here = pages(tmp_path)
    assert 'class="stepper game"' in here.get("/replay").text
    unknown = here.get("/replay?file=nofile&game=3").text
    assert "nofile" in unknown and 'class="stepper' not in unknown


def test_methods_and_headers(tmp_path):
    here = pages(tmp_path)
    assert here.put("/").status_code == 405
    headers = here.get("/").headers
    assert "default-src 'none'" in headers["content-security-policy"] and "unsafe-inline' 'unsafe" not in headers
    assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"
    assert "cache-control" not in here.get("/static/style.css").headers
    assert here.get("/static/%2e%2e/pages.py").status_code == 404


def test_forms_of_other_sites_act_on_nothing(tmp_path):
    here = pages(tmp_path)
    assert here.post("/deal", headers={"origin": "http://somebody.example"}).status_code == 403
    deal = here.post("/deal", data={"partner": "pushover"}, headers={"origin": HERE})
    assert deal.status_code == 303 and re.fullmatch(r"/game/[\w-]{22}", deal.headers["location"])


def test_large_forms_are_ignored(tmp_path):
    assert 'class="problem"' in pages(tmp_path).post("/replay/open", data={"record": "x" * MAX_BODY}).text


def test_key_in_address_sets_a_cookie(tmp_path):
    here = pages(tmp_path, Secret("correct horse", "The key", in_address=True))
    assert here.get("/").status_code == here.get("/replay").status_code == 401
    assert here.get("/static/style.css").status_code == 200
    assert here.get("/?key=wrong").status_code == 403
    entered = here.get("/replay?file=a&key=correct+horse")
    assert (entered.status_code, entered.headers["location"]) == (303, "/replay?file=a")
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie and "correct" not in cookie
    assert here.get("/").status_code == 200
    assert here.get("/", headers={"origin": "http://somebody.example"}).status_code == 403
    assert here.get("//evil.example/?key=correct+horse").headers.get("location", "/").startswith("/")


def test_password_is_taken_from_the_form_only(tmp_path):
    here = pages(tmp_path, Secret("correct horse", "Password"))
    assert here.get("/?key=correct+horse").status_code == 401
    assert here.post("/enter", data={"password": "guess"}).status_code == 403
    assert here.post("/enter", data={"password": "correct horse"}).status_code == 303
    assert here.get("/").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(("host", "words", "foreign"), [("127.0.0.2", ["--key"], "400"), ("0.0.0.0", [], "401")])
def test_key_is_required_if_it_is_wanted_or_others_reach_the_page(tmp_path, host, words, foreign):
    with serving(tmp_path, *words, "--host", host, host=host) as at:
        key = re.search(r"\?key=([\w-]{32})", (tmp_path / "server.log").read_text())[1]
        assert urllib.request.build_opener(urllib.request.HTTPCookieProcessor).open(f"{at}/?key={key}").status == 200
        for headers, status in (({}, "401"), ({"Host": "somebody.example"}, foreign)):
            with pytest.raises(urllib.error.HTTPError, match=status):
                urllib.request.urlopen(urllib.request.Request(f"{at}/", headers=headers))


def test_loopback_addresses():
    assert is_loopback("127.0.0.1") and is_loopback("localhost") and is_loopback("::1")
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.1.7", "example.org")))


@pytest.mark.slow
def test_stop_closes_waiting_requests(tmp_path):
    with serving(tmp_path) as at:
        deal = urllib.request.Request(f"{at}/deal", data=b"partner=tough&seat=0")
        with urllib.request.urlopen(deal) as answer:
            address = answer.url
        waiting = threading.Thread(target=_wait, args=(f"{address}/changed?version=999",), daemon=True)
        waiting.start()
    assert "stopped" in (tmp_path / "server.log").read_text()


def _wait(address: str) -> None:
    try:
        urllib.request.urlopen(address).close()
    except OSError:
        return


def test_command_errors(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        wrong = [("port", 70_000), ("pause", 99.0), ("record", tmp_path), ("port", port), ("run", tmp_path)]
        for key, value in [*wrong, ("host", "203.0.113.1")]:
            assert dond("web", "--no-browser", "--runs", tmp_path, "--port", 0, f"--{key}", value) == 2
            line = capsys.readouterr().err
            assert line.startswith(f"--{key} ") and line.count("\n") == 1


# Names that visitors may use


@pytest.fixture
def place(tmp_path):
    """A folder that may be read, with files in it that may not."""
    inside = tmp_path / "runs"
    inside.mkdir()
    (tmp_path / "outside.json").write_text("{}")
    (inside / "fine.json").write_text("{}")
    return tmp_path


PLAIN = (
    "heuristic", "best_response(to=heuristic)", "mixture(of=['heuristic', 'boulware(exponent=3)'])", "llm",
)  # fmt: skip
CLOSED = (
    "checkpoint(path='outside.json')", "checkpoint(path='runs/../outside.json')", "negmas(agent='a.B', python=python)",
    "expert(path='/etc/passwd')", "llm(base_url='http://192.0.2.1/v1')", "llm(provider=groq)", "llm(prompt_path=x)",
    "best_response(to=checkpoint(path='/dev/zero'))", "mixture(of=['llm(provider=groq)'])",
)  # fmt: skip


def test_typed_names_need_nothing_or_weights_in_the_folders(place, monkeypatch):
    monkeypatch.chdir(place)
    menu = OccupantMenu([], Permission(folders=(Path("runs"),)))
    for spec in (*PLAIN, "checkpoint(path='runs/fine.json')"):
        assert menu.candidate("", spec).name == spec
    for spec in CLOSED:
        for named in (partial(menu.candidate, ""), menu.of_record().resolve):
            with pytest.raises((OccupantNameError, UntrustedError)):
                named(spec)
    for name in ("llm", "mixture(of=[llm, tough])"):  # in a record from elsewhere
        with pytest.raises(UntrustedError):
            menu.of_record().resolve(name)


def test_open_paths_allow_visitors_and_no_record(place, monkeypatch):
    monkeypatch.chdir(place)
    menu = OccupantMenu([], ANYTHING)
    for spec in ("checkpoint(path='outside.json')", "llm(base_url='http://192.0.2.1/v1')"):
        assert menu.candidate("", spec).name == spec
        with pytest.raises(UntrustedError):
            menu.of_record().resolve(spec)
    with pytest.raises(OccupantNameError, match="no occupant is called"):
        menu.candidate("", "nobody")
