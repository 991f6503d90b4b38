"""The pages of a study by forms: whole runs, restarts, repeated and illegal forms, access."""

from __future__ import annotations

import pytest

from dond.study.analysis import finished_games
from dond.study.export import anonymise
from dond.study.journal import Journal
from dond.study.pages import application
from dond.study.running_study import RunningStudy, digest
from tests.dond.study.visitors import SECRET, Forms, Visitor, all_through, config

starlette = pytest.importorskip("starlette.testclient", reason="the pages come with the [ui] extra")
HERE = "http://127.0.0.1:80"


def client(app, **options):
    return starlette.TestClient(app, base_url=HERE, **options)


def test_participants_reach_their_codes(tmp_path):
    settings = config()
    study = RunningStudy(settings, Journal(tmp_path / "journal.sqlite"))
    app = application(study)
    kinds = ("heuristic", "boulware", "conceder", "nash_seeker", "heuristic")
    visitors = [Visitor(Forms(client(app)), kind, settings) for kind in kinds]
    visitors[0].wrong_first = True
    all_through(visitors)
    games = finished_games(anonymise(study.progress, 1))
    with_people = [game for game in games if game.condition == "person"]
    assert len(games) == 10 and len(with_people) in (4, 8)
    assert len({visitor.code for visitor in visitors}) == 5
    assert sorted(digest(visitor.code) for visitor in visitors) == sorted(study.progress.codes)
    assert study.progress.participants[0].attempts == 1
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    cookies = [value for visitor in visitors for value in visitor.surface.client.cookies.values()]
    assert len(cookies) == 5 and SECRET.encode() in files, "free answers are kept, and never exported"
    for secret in (*cookies, *(visitor.code for visitor in visitors), "testclient"):
        assert secret.encode() not in files


def test_restart_mid_game_loses_nothing(tmp_path):
    settings = config(games=1, conditions="[boulware]")
    journal = Journal(tmp_path / "journal.sqlite")
    visitor = Visitor(Forms(client(application(RunningStudy(settings, journal)))), "boulware", settings)
    while 'data-said="[[' not in visitor.surface.page():
        visitor.step()
    before, cookies = visitor.surface.page(), visitor.surface.client.cookies
    again = RunningStudy(settings, Journal(tmp_path / "journal.sqlite"))  # the first was killed: nothing was closed
    again.start()
    visitor.surface.client = client(application(again), cookies=cookies)
    assert visitor.surface.page() == before
    all_through([visitor])
    assert digest(visitor.code) in again.progress.codes


def test_repeated_and_illegal_forms_change_nothing():
    settings = config(games=1, conditions="[boulware]")
    study = RunningStudy(settings, Journal(None))
    visitor = Visitor(Forms(client(application(study))), "boulware", settings)
    while 'name="act"' not in visitor.surface.page():
        visitor.step()
    (table,) = study.progress.tables
    said = len(table.acts)
    fields = {"table": "0", "turn": str(said), "act": "PROPOSE", "keep": ["2"], "browser": "1500"}
    assert "Really?" in visitor.surface.client.post("/act", data={**fields, "act": "DISAGREE"}).text
    for wrong in ({"act": "SHOUT"}, {"keep": ["2"] * 9}):
        assert "Sort the items" in visitor.surface.client.post("/act", data={**fields, **wrong}).text
    if table.state.claims[1 - table.seat_of(0)] is None:
        assert "Not legal" in visitor.surface.client.post("/act", data={**fields, "act": "AGREE"}).text
    assert len(table.acts) == said
    for _ in range(2):
        visitor.surface.send("/act", fields)
    assert len(table.acts) == said + 2, "theirs and the answer, once"
    assert table.acts[said].since_shown is not None and table.acts[said].by_browser == 1.5


def test_password_is_required():
    visitor = client(application(RunningStudy(config(), Journal(None)), password="correct horse battery"))
    assert visitor.get("/").status_code == visitor.get("/changed").status_code == 401
    assert visitor.post("/agree", data={"agree": "yes"}).status_code == 401
    assert visitor.post("/enter", data={"password": "correct horse battery"}).status_code == 200
    assert 'action="/agree"' in visitor.get("/").text


def test_within_design_covers_conditions():
    settings = config(games=1, conditions="[heuristic, boulware, prosocial]", design="within")
    study = RunningStudy(settings, Journal(None))
    app = application(study)
    all_through([Visitor(Forms(client(app)), kind, settings) for kind in ("conceder", "boulware", "heuristic")])
    orders = [[study.progress.tables[table].condition for table in who.tables] for who in study.progress.participants]
    assert all(sorted(order) == ["boulware", "heuristic", "prosocial"] for order in orders)
    assert len({tuple(order) for order in orders}) == 3


def test_unwritable_journal_gives_503(tmp_path):
    told = []
    journal = Journal(tmp_path / "journal.sqlite")
    study = RunningStudy(config(), journal, report=told.append)
    here = client(application(study))
    journal.close()  # as a disk that is full: nothing is written any more
    answer = here.post("/agree", data={"agree": "yes"})
    assert answer.status_code == 503 and "is stored" in answer.text and not here.cookies
    assert "cannot be written" in told[0] and not study.progress.participants
