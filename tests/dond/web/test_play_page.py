"""The play page by plain forms, without a browser: whole games, sentences, second presses, the next game, limits."""

from __future__ import annotations

import re
import time
from html import unescape

import pytest
from markupsafe import escape

testclient = pytest.importorskip("starlette.testclient", reason="the pages come with the [ui] extra")

from dond.report.compare import comparison_of, read_compared  # noqa: E402
from dond.web import play_page  # noqa: E402
from dond.web.league_follower import Leagues  # noqa: E402
from dond.web.occupants import Desk  # noqa: E402
from dond.web.pages import application  # noqa: E402
from dond_marl.game import Act, Action  # noqa: E402
from dond_marl.records.record import from_json, replay  # noqa: E402
from partners.scripted.generated import describe_spec, nickname  # noqa: E402
from tests.dond.web.browser import as_after, change_seed  # noqa: E402

PATIENCE = 120  # seconds until a partner has answered


class Player:
    """A visitor who plays by the forms of the page."""

    def __init__(self, folder):
        desk = Desk(list, folder / "games.jsonl", folder, None, 0)
        app = application(desk, Leagues(folder, None), None, None, "127.0.0.1")
        self.client = testclient.TestClient(app, base_url="http://127.0.0.1")
        self.book, self.address, self.text = folder / "games.jsonl", "", ""

    def deal(self, partner, **fields):
        answer = self.client.post("/deal", data={"typed": partner, "seat": "0", "seed": "1030", **fields})
        self.address, self.text = answer.url.path, answer.text
        return self.settled()

    def settled(self):
        """The page once it is the person's turn, or the game is over."""
        until = time.monotonic() + PATIENCE
        while "data-follow" in self.text and time.monotonic() < until:
            time.sleep(0.02)
            self.text = self.client.get(self.address).text
        return self.text

    def send(self, to, **fields):
        """Post a form of the current turn."""
        hidden = dict(re.findall(r'name="(number|turn)" value="(\d+)"', self.text))
        self.text = self.client.post(f"{self.address}/{to}", data={**hidden, **fields}).text
        return self.settled()

    def games(self):
        return [from_json(line) for line in self.book.read_text().splitlines()] if self.book.exists() else []


@pytest.fixture
def player(tmp_path):
    return Player(tmp_path)


def heading(text):
    return unescape(re.search(r"<h1[^>]*>(.*?)</h1>", text)[1])


def test_whole_game_is_recorded(player):
    assert heading(player.deal("pushover")).startswith("You open.")
    assert 'value="AGREE" disabled' in player.text
    text = player.send("act", act="PROPOSE", keep=["0", "2"])
    assert heading(text) == "Deal! They accepted." and 'class="landed deal"' in text
    (record,) = player.games()
    assert record.occupants == ("human", "pushover") and record.actions[0] == Action(Act.PROPOSE, (1, 0, 1))
    assert replay(record).is_over and f">{record.outcome.scores[0]}</b>" in text
    assert "best response" in player.client.get(f"{player.address}/0/analysis").text
    again = player.send("next", number="1", swap="1")
    assert 'data-seat="1"' in again and player.send("next", number="1", swap="1")  # a second press deals nothing
    assert [int(value) for value in re.search(r'data-values="\[(.*?)\]"', again)[1].split(", ")] == list(
        record.scenario.utilities[1]
    )


def test_stranger_is_named_after_the_game_and_met_again(player):
    begun = player.deal("generated", max_turns="6")
    assert "generated(" not in begun and describe_spec("generated") not in begun
    over = player.send("act", act="END", sure="1")
    (record,) = player.games()
    name = record.occupants[1]
    assert name.startswith("generated(program=") and f"{nickname(name)}</b> {escape(describe_spec(name))}" in over
    again = dict(re.findall(r'name="(typed|max_turns|disagree|messages)" value="(.*?)"', over))
    assert again["typed"] == name and again["max_turns"] == "6"
    player.text = player.client.post("/deal", data={**again, "seat": "0"}).text
    player.address = player.client.get("/").url.path
    player.settled()
    player.send("act", act="END", sure="1")
    assert [record.occupants[1] for record in player.games()] == [name, name]
    player.send("next", number="1")
    assert player.client.get("/replay", params={"file": str(player.book)}).text.count(escape(describe_spec(name))) == 1


def test_reload_and_repeated_forms_change_nothing(player):
    player.deal("tough")
    before = player.text
    assert player.client.get(player.address).text == before
    old = dict(re.findall(r'name="(number|turn)" value="(\d+)"', before))
    player.send("act", act="PROPOSE", keep="0")
    shown = player.text
    answer = player.client.post(f"{player.address}/act", data={**old, "act": "END", "sure": "1"})
    assert answer.url.path == player.address and answer.text == shown
    assert player.client.get(f"{player.address}/act").url.path == player.address


def test_second_tab_resumes_the_running_game(player):
    player.deal("tough")
    player.send("act", act="PROPOSE", keep="0")
    for address in (player.address, "/", "/game/unknown"):
        tab = player.client.get(address)
        assert tab.url.path == player.address and tab.text == player.text
    assert player.client.get("/?run=elsewhere&member=main").url.path == "/", "another partner was asked for"
    player.send("act", act="DISAGREE", sure="1")
    assert player.games() and player.client.get("/").url.path == "/"


def test_acts_that_may_leave_nothing_are_confirmed(player):
    player.deal("tough")
    for act in ("INSIST", "DISAGREE"):  # an offer without fields keeps nothing
        assert 'class="confirm"' in player.send("act", act=act) and not player.games()
    assert heading(player.send("act", act="DISAGREE", sure="1")).startswith("No deal.")
    assert player.games()[-1].outcome.scores == (0, 0)


@pytest.mark.parametrize(
    "fields",
    [
        {"act": "AGREE"},
        {"act": "PROPOSE", "keep": ["0"] * 99},
    ],
)
def test_illegal_acts_are_refused(player, fields):
    player.deal("heuristic")
    assert 'role="alert"' in player.send("act", **fields)
    assert "<li class" not in player.text.split('class="lines"')[1].split("</ol>")[0] and not player.games()


def test_sentence_is_confirmed_then_played_with_its_words(player):
    player.deal("pushover")
    said = "I'd like the hat and both balls, you can have the rest"
    asked = player.send("say", words=said, keep=["0"], laid="1")
    assert 'class="confirm"' in asked and not player.games()
    assert re.findall(r'name="keep" value="(\d)"', asked.split('class="confirm"')[1].split("</form>")[0]) == [
        "1",
        "2",
        "2",
    ]
    back = player.send("say", words=said, keep=["0"], laid="1", drop="1")
    assert 'class="confirm"' not in back and unescape(back).count(said) == 1
    assert len(re.findall(r'name="keep" value="0" checked', back)) == 1
    player.send("act", act="PROPOSE", keep=["1", "2", "2"], words=said, sure="1")
    assert player.games()[0].words[0] == said


def test_commands_and_unread_lines(player):
    player.deal("tough")
    assert "Not legal" in player.send("say", words="a")
    for times in (1, 2):
        assert f'name="unread" value="{times}"' in player.send("say", words="qqq", unread=str(times - 1))
    impossible = player.send("say", words="same as before", unread="1")  # it is understood, but there is no offer yet
    assert 'role="alert">' in impossible and 'name="unread" value="0"' in impossible
    assert 'class="confirm"' in player.send("say", words="quit")
    assert 'class="confirm"' in player.send("say", words="d")  # a command that ends the game is confirmed too
    assert 'class="confirm"' in player.send("say", words="p 0 0 0")
    player.send("act", act="PROPOSE", sure="1")
    assert '["PROPOSE", [0, 0, 0]]' in unescape(player.text)


def test_leaving_records_nothing(player):
    player.deal("tough")
    assert player.client.post(f"{player.address}/leave").url.path == "/"
    lost = player.client.get(player.address)  # as after a restart of the server
    assert (lost.url.path, lost.url.query) == ("/", b"lost=1") and 'class="notice"' in lost.text and not player.games()
    assert 'class="notice"' not in player.client.get("/").text


def test_choice_errors_keep_the_form(player):
    text = player.client.post("/deal", data={"typed": "heuristik<b>", "max_turns": "7"}).text
    assert 'role="alert">' in text and 'value="7"' in text and "heuristik<b>" not in text
    assert "heuristic" in player.client.post("/deal", data={"typed": "heuristik"}).text


def test_broken_partner_is_reported(player):
    text = player.deal("best_response(to=heuristic)", source="uniform", seat="1")
    assert "data-follow" not in text and "seat_0 failed" in text and not player.games()


def test_hint_and_message(player):
    player.deal("announcer", hints="random", messages="text")
    assert 'class="hint"' in player.text
    player.send("act", act="PROPOSE", keep="0", message="<b>hats</b>")
    player.send("act", act="END", sure="1") if "data-follow" not in player.text and not player.games() else None
    record = player.games()[-1]
    assert record.messages[0] == "<b>hats</b>" and record.occupants[0] == "human(hints=random)"
    assert "&lt;b&gt;hats" in player.text and "<b>hats" not in player.text


def test_oldest_session_is_dropped(player, monkeypatch):
    monkeypatch.setattr(play_page, "MAX_SESSIONS", 1)
    player.deal("tough")
    first = player.address
    player.deal("tough")
    player.client.cookies.clear()
    assert player.client.get(first).url.path == "/" and player.client.get(player.address).url.path == player.address


def test_runs_are_compared_as_by_the_report(finished_league, tmp_path):
    runs = [tmp_path / run for run in ("quick/0001", "quick/0002", "other/0001")]
    for run in runs:
        as_after(finished_league, 9, run)
    change_seed(runs[1], 77)
    client, summary = Player(tmp_path).client, comparison_of([read_compared(runs[0]), read_compared(runs[1])]).summary

    def compared(*chosen):
        return client.get("/league/compare", params=[("run", str(run)) for run in chosen]).text

    assert summary in compared(*runs[:2])
    for refused in (runs[:1], [runs[0], runs[2]], [runs[0], tmp_path]):  # one, the same seed, one and no run
        assert summary not in compared(*refused)
