"""The pages of a study, by forms: everybody comes to an end, a restart loses nothing, and nobody else comes in."""

from __future__ import annotations

import re

import pytest

from league.web.study import hall as hall_module
from league.web.study.analysis import played
from league.web.study.app import application
from league.web.study.door import TRIES
from league.web.study.games import shuffled
from league.web.study.hall import Hall, digest
from league.web.study.journal import Journal
from tests.league.web.study.visitors import SECRET, Forms, Visitor, all_through, config

starlette = pytest.importorskip("starlette.testclient", reason="the pages come with the [ui] extra")
HERE = "http://127.0.0.1:80"


def client(app, **options):
    return starlette.TestClient(app, base_url=HERE, **options)


def test_participants_play_occupants_and_each_other_to_their_codes(tmp_path):
    settings = config()
    hall = Hall(settings, Journal(tmp_path / "journal.sqlite"))
    app = application(hall)
    kinds = ("heuristic", "boulware", "conceder", "nash_seeker", "heuristic")
    visitors = [Visitor(Forms(client(app)), kind, settings) for kind in kinds]
    visitors[0].wrong_first = True
    all_through(visitors)
    games = played(shuffled(hall.progress, 1))
    with_people = [game for game in games if game.condition == "person"]
    assert len(games) == 10 and len(with_people) in (4, 8)
    assert len({visitor.code for visitor in visitors}) == 5
    assert sorted(digest(visitor.code) for visitor in visitors) == sorted(hall.progress.codes)
    assert hall.progress.participants[0].attempts == 1
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    cookies = [value for visitor in visitors for value in visitor.surface.client.cookies.values()]
    assert len(cookies) == 5 and SECRET.encode() in files, "free answers are kept, and never exported"
    for secret in (*cookies, *(visitor.code for visitor in visitors), "testclient"):
        assert secret.encode() not in files


def test_a_restart_in_the_middle_of_a_game_loses_nothing(tmp_path):
    settings = config(games=1, conditions="[boulware]")
    journal = Journal(tmp_path / "journal.sqlite")
    visitor = Visitor(Forms(client(application(Hall(settings, journal)))), "boulware", settings)
    while 'data-said="[[' not in visitor.surface.page():
        visitor.step()
    before, cookies = visitor.surface.page(), visitor.surface.client.cookies
    again = Hall(settings, Journal(tmp_path / "journal.sqlite"))  # the first was killed: nothing was closed
    again.start()
    visitor.surface.client = client(application(again), cookies=cookies)
    assert visitor.surface.page() == before
    all_through([visitor])
    assert digest(visitor.code) in again.progress.codes


def test_a_form_that_is_sent_twice_or_that_the_rules_forbid_changes_nothing():
    settings = config(games=1, conditions="[boulware]")
    hall = Hall(settings, Journal(None))
    visitor = Visitor(Forms(client(application(hall))), "boulware", settings)
    while "/act" not in visitor.surface.page():
        visitor.step()
    (table,) = hall.progress.tables
    said = len(table.said)
    fields = {"table": "0", "turn": str(said), "act": "PROPOSE", "keep0": "0", "keep1": "0", "keep2": "9"}
    answer = visitor.surface.client.post("/act", data=fields)
    assert "Not legal" in answer.text and len(table.said) == said
    for wrong in ({"act": "SHOUT"}, {"keep0": "many"}, {"keep0": "²"}):
        assert "Please choose" in visitor.surface.client.post("/act", data={**fields, **wrong}).text
    for _ in range(2):
        visitor.surface.send("/act", {**fields, "keep2": "1"})
    assert len(table.said) == said + 2, "theirs and the answer, once"
    assert table.said[said].since_shown is not None and table.said[said].by_browser is None


def test_what_may_leave_one_with_nothing_is_asked_for_twice():
    settings = config(games=1, conditions="[boulware]")
    hall = Hall(settings, Journal(None))
    visitor = Visitor(Forms(client(application(hall))), "boulware", settings)
    while "/act" not in visitor.surface.page():
        visitor.step()
    turn = {"table": "0", "turn": str(len(hall.progress.tables[0].said))}
    asked = visitor.surface.client.post("/act", data={**turn, "act": "DISAGREE", "keep0": "0"})
    assert "Really?" in asked.text and hall.progress.tables[0].why is None
    visitor.surface.send("/act", {**turn, "act": "DISAGREE", "sure": "1", "browser": "1500"})
    assert hall.progress.tables[0].why == "finished" and hall.progress.tables[0].said[-1].by_browser == 1.5


def test_other_sites_names_and_methods_are_refused():
    app = application(Hall(config(), Journal(None)))
    with client(app) as here:
        assert here.get("/").status_code == 200
        assert here.post("/agree", data={"agree": "yes"}, headers={"origin": "http://evil.example"}).status_code == 403
        assert here.get("/", headers={"host": "evil.example"}).status_code == 400
        assert here.put("/").status_code == 405
        assert here.get("/static/../app.py").status_code == 404
        assert "default-src 'none'" in here.get("/").headers["content-security-policy"]
        assert "server" not in here.get("/").headers
        for too_much in ({"more": "x" * 100_000}, {f"field{number}": "1" for number in range(2000)}):
            large = here.post("/agree", data={"agree": "yes", **too_much})
            assert "Please tick the box" in large.text and not here.cookies


def test_an_address_that_a_form_left_leads_back_and_a_study_that_is_full_says_so(monkeypatch):
    with client(application(Hall(config(), Journal(None)))) as here:
        for path in ("/check", "/act", "/enter"):
            assert here.get(path, follow_redirects=False).headers["location"] == "/"
        assert here.post("/enter", data={"password": "again"}, follow_redirects=False).status_code == 303
        monkeypatch.setattr(hall_module, "MOST_PARTICIPANTS", 0)
        full = here.post("/agree", data={"agree": "yes"})
        assert "This study takes at most 0 visitors." in full.text and not here.cookies


def test_with_a_password_nobody_comes_in_without_it():
    app = application(Hall(config(), Journal(None)), password="correct horse battery")
    visitor = client(app)
    assert visitor.get("/").status_code == 401 and visitor.get("/changed").status_code == 401
    assert visitor.post("/agree", data={"agree": "yes"}).status_code == 401
    assert visitor.post("/enter", data={"password": "incorrect horse"}).status_code == 403
    entered = visitor.post("/enter", data={"password": "correct horse battery"}, follow_redirects=False)
    assert entered.status_code == 303 and "HttpOnly" in entered.headers["set-cookie"]
    assert "correct" not in entered.headers["set-cookie"] and "Please read." in visitor.get("/").text
    for _ in range(TRIES):
        client(app).post("/enter", data={"password": "guess"})
    assert client(app).post("/enter", data={"password": "correct horse battery"}).status_code == 429
    assert visitor.get("/").status_code == 200, "who is in stays in"


def test_settings_and_answers_are_text_wherever_they_are_shown():
    settings = config(conditions="[prosocial]")
    texts = settings.texts.model_copy(update={"consent": "<script>alert(1)</script>"})
    page = client(application(Hall(settings.model_copy(update={"texts": texts}), Journal(None)))).get("/").text
    assert "&lt;script&gt;" in page and not re.search(r"<script>", page)


def test_within_participants_everybody_meets_every_condition():
    settings = config(games=1, conditions="[heuristic, boulware, prosocial]", design="within")
    hall = Hall(settings, Journal(None))
    app = application(hall)
    all_through([Visitor(Forms(client(app)), kind, settings) for kind in ("conceder", "boulware", "heuristic")])
    orders = [[hall.progress.tables[table].condition for table in who.tables] for who in hall.progress.participants]
    assert all(sorted(order) == ["boulware", "heuristic", "prosocial"] for order in orders)
    assert len({tuple(order) for order in orders}) == 3


def test_what_cannot_be_kept_is_not_answered_and_the_terminal_hears_why(tmp_path):
    told = []
    journal = Journal(tmp_path / "journal.sqlite")
    hall = Hall(config(), journal, tell=told.append)
    here = client(application(hall))
    journal.close()  # as a disk that is full: nothing is written any more
    answer = here.post("/agree", data={"agree": "yes"})
    assert answer.status_code == 503 and "is kept" in answer.text and not here.cookies
    assert "cannot be written" in told[0] and not hall.progress.participants
