"""Replays query no language model that a record, a league or an address names; a visitor asks for one by a form."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

testclient = pytest.importorskip("starlette.testclient", reason="the pages come with the [ui] extra")

from dond.web.league_follower import Leagues  # noqa: E402
from dond.web.occupants import Desk  # noqa: E402
from dond.web.pages import application  # noqa: E402
from dond_marl.game import Act, Action, Rules, Scenario, State, apply  # noqa: E402
from dond_marl.occupants import Permission  # noqa: E402
from dond_marl.records.record import record_of, to_line  # noqa: E402
from tests.command import played_league  # noqa: E402
from tests.loopback import without_proxy_and_key  # noqa: E402

HERE = "http://127.0.0.1"
SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 4}
league: {rounds: 1, block_size: 8, seed: 3, evaluate: false}
members: [{kind: pushover, name: llm}, tough]
logging: {output_dir: FOLDER}
"""


@pytest.fixture(autouse=True)
def lookups(monkeypatch) -> list[str]:
    """The names of servers that were looked up; a user with a key of Groq's."""
    names: list[str] = []

    def look_up(host, *_, **__):
        names.append(str(host))
        raise socket.gaierror("no network in this test")

    without_proxy_and_key(monkeypatch)
    monkeypatch.setenv("GROQ_API_KEY", "gsk_test")
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return names


def pages(folder: Path, runs: list[Path], **allow: Permission):
    """A client of the pages: ``runs`` are in its menus, the leagues of ``folder`` can be watched."""
    desk = Desk(lambda: runs, folder / "book.jsonl", folder, None, 0, **allow)
    app = application(desk, Leagues(folder / "runs", None), None, None, None)
    return testclient.TestClient(app, base_url=HERE, headers={"origin": HERE})


def record(*names: str) -> str:
    state = State(Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1))), Rules())
    for action in (Action(Act.PROPOSE, (1, 1, 1)), Action(Act.DISAGREE)):
        state = apply(state, action)
    return f"{to_line(record_of(state, (names[0], names[-1])))}\n"


def look_at(client, game: dict[str, str], **more: str) -> None:
    """Request everything of a replay that is computed."""
    for path in ("/replay", "/replay/policy", "/replay/analysis"):
        for step in (0, 1):
            params = {**game, "step": str(step), "seat": str(step), **more}
            assert client.get(path, params=params).status_code == 200


def test_a_watched_member_called_like_a_model_queries_none(tmp_path, lookups):
    run = played_league(tmp_path, SETTINGS)
    client = pages(tmp_path, [])  # its run is not among the newest
    watched = {"run": str(run), "first": "llm", "second": "llm"}
    to = client.post("/league/watch", data=watched, follow_redirects=False).headers["location"]
    look_at(client, {"token": to.partition("token=")[2].partition("&")[0]})
    assert not lookups


@pytest.mark.parametrize(
    "chosen", [pytest.param({"adviser": "llm"}, marks=pytest.mark.slow), {"player": "llm"}], ids=str
)
def test_a_chosen_model_is_queried_once_the_visitor_asks(chosen, tmp_path, lookups):
    (tmp_path / "book.jsonl").write_text(record("tough"))
    game, client = {"file": str(tmp_path / "book.jsonl"), "game": "1"}, pages(tmp_path, [])
    look_at(client, game, **chosen)  # as a link from anywhere would
    assert not lookups
    foreign = client.post("/replay/ask", params={**game, **chosen}, headers={"origin": "http://elsewhere.example"})
    assert foreign.status_code == 403 and 'action="/replay/ask' in client.get("/replay", params={**game, **chosen}).text
    client.post("/replay/ask", params={**game, **chosen})
    look_at(client, game, **chosen)
    assert lookups and 'action="/replay/ask' not in client.get("/replay", params={**game, **chosen}).text
