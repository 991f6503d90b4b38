"""The pages in a real browser: games by mouse, keyboard and sentences, replays, leagues, accessibility."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

import pytest

from dond.web.league_follower import RunViewError, play_members
from dond_marl.game import Act, Action, Rules, State, apply
from dond_marl.records.record import from_json, record_of, to_line
from league.ledger.run_directory import LEDGER
from tests.dond.web.browser import (
    HOSTILE,
    NARROW,
    SCENARIO,
    TALK,
    WIDE,
    as_after,
    begin,
    found_by_axe,
    games_in,
    missing,
    serving,
)

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def test_game_by_mouse(look, folder):
    before, page = len(games_in(folder)), look()
    begin(page, "pushover")  # agrees to anything
    assert page.get_by_role("button", name="Accept").is_disabled()  # nothing is on offer
    keep = page.locator(".side.me").inner_text()
    page.get_by_role("checkbox", name=re.compile("hat 1 of")).click()
    page.locator(".side.they", has_text="1 hat").wait_for()
    assert page.locator(".side.me").inner_text() != keep
    page.get_by_role("button", name="Propose").click()
    page.get_by_role("heading", name="Deal! They accepted.").wait_for()
    record = games_in(folder)[-1]
    assert len(games_in(folder)) == before + 1 and page.locator(".plane .landed").count() == 1
    for seat, side in ((0, "me"), (1, "they")):
        assert page.locator(f".score.{side} b").inner_text() == str(record.outcome.scores[seat])
    assert [line.split("\n")[0] for line in page.locator(".log li").all_inner_texts()] == ["You", "pushover"]
    page.get_by_role("button", name="Swap sides").click()
    page.locator(".token").first.wait_for()
    theirs = [f"{value} point{'' if value == 1 else 's'} each" for value in record.scenario.utilities[1]]
    assert page.locator(".rate b").all_inner_texts() == theirs  # the same items, worth what they were to the partner


def test_game_by_keyboard_on_a_phone(look, folder):
    page = look("/", NARROW)
    begin(page, "pushover")
    page.locator(".game:focus").wait_for()  # keys are heard at once
    for key in ("Shift+Digit1", "Shift+Digit2", "Digit1"):
        page.keyboard.press(key)
    page.locator(".side.they", has_text="1 hat").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it can be scrolled sideways"
    page.keyboard.press("p")
    page.locator("button:focus", has_text="Next game").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("Nothing has been said yet").or_(page.locator(".log")).first.wait_for()
    page.locator(".token").first.wait_for()
    assert games_in(folder)[-1].outcome.deal


def test_keys_after_sentences(look, folder):
    page = look()
    begin(page, "tough", "1")  # asks for everything it values
    page.locator(".act.propose:enabled").wait_for()
    page.locator(".game:focus").wait_for()
    page.keyboard.press("t")
    page.keyboard.type("gimme everything")
    page.keyboard.press("Enter")
    page.locator(".confirm button", has_text="Yes").click()
    page.locator(".log li").nth(2).wait_for()
    page.locator(".game:focus").wait_for()
    page.keyboard.press("i")  # heard at once
    page.locator(".log li").nth(4).wait_for()
    line = page.get_by_label("Say it in your own words")
    line.fill("no way")
    line.press("Enter")
    page.locator(".confirm button:focus", has_text="Propose: you keep").wait_for()
    page.keyboard.press("i")  # something else is done instead
    page.locator(".log li").nth(6).wait_for()
    page.locator(".confirm").wait_for(state="detached")
    line.fill("qqq")
    line.press("Enter")
    page.get_by_role("alert").filter(has_text="“qqq” was not understood").wait_for()
    line.press("Enter")
    page.get_by_role("alert").filter(has_text="Try it like this").wait_for()
    line.fill("bye")
    line.press("Enter")
    page.locator(".confirm button:focus", has_text="No").wait_for()
    assert page.locator(".log li").count() == 7
    page.get_by_role("button", name="Yes, really").click()
    page.get_by_role("heading", name="No deal.").wait_for()
    assert games_in(folder)[-1].words == (None, "gimme everything", *[None] * 5, "bye")


def test_replay_steps(look, folder):
    page = look("/replay?file=runs/games/told.jsonl")
    page.get_by_text("Act 1 of 3").wait_for()
    assert page.locator(".rate .me").all_inner_texts() == ["4 points each", "1 point each", "2 points each"]
    assert page.locator(".rate .they").all_inner_texts() == ["0 points each", "4 points each", "1 point each"]
    page.get_by_role("link", name="Next act").click()
    page.get_by_text("Act 2 of 3").wait_for()
    page.get_by_text(
        re.compile(r"(propose to keep|insist on keeping) .+ \(\d+ points?\)")
    ).first.wait_for()  # of what the expert might say
    page.locator(".facts-list dd").first.wait_for()
    assert "not known" not in page.locator(".facts-list dd").nth(1).inner_text()  # the heuristic's best response is
    page.locator(".stepper").press("ArrowRight")
    page.get_by_text("Act 3 of 3").wait_for()
    page.locator(".stepper").press("End")
    page.get_by_text("The end").wait_for()
    page.locator(".plane").wait_for()
    assert page.locator(".side.me strong").inner_text() == "8 of 10 points"
    assert page.locator(".lanes :checked").count() == 3


def test_replay_of_a_persons_game(look, folder, address):
    state = State(SCENARIO, Rules())
    for action in TALK:
        state = apply(state, action)
    own = folder / "runs" / "games" / "own.jsonl"
    own.write_text("".join(f"{to_line(record_of(state, ('human', name), source='lewis'))}\n" for name in ("a", "b")))
    page = look("/replay?file=runs/games/own.jsonl&game=1")
    page.locator(".stepper:focus").wait_for()
    page.keyboard.press("ArrowRight")  # nothing was clicked
    page.get_by_text("Act 2 of 3").wait_for()
    link = page.get_by_role("link", name="Link to this game").get_attribute("href")
    assert link == "/replay?file=runs%2Fgames%2Fown.jsonl&game=1"
    kept = page.get_by_role("link", name="Download it").get_attribute("href")
    with urllib.request.urlopen(address + kept) as answer:
        assert from_json(answer.read().decode()).occupants == ("human", "a")
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"{address}/replay/game.json?file=server.log&game=1")


def test_league_page_follows(look, folder):
    page = look("/league")
    page.get_by_text("2 of 4").wait_for()
    shown = page.locator(".facts-row dd").nth(1).inner_text()
    as_after(folder / "runs" / "league" / "0001", 3, folder / "growing" / "0001")
    page.get_by_text("3 of 4").wait_for()
    assert page.locator(".facts-row dd").nth(1).inner_text() != shown
    as_after(folder / "runs" / "league" / "0001", 5, folder / "growing" / "0001")
    page.get_by_text("The league is over.").wait_for()
    assert (folder / "growing" / "0001" / LEDGER).is_file()


def test_hostile_names_are_escaped(look, folder):
    page = look("/league")
    page.locator(".ladder .name").first.wait_for()
    assert set(HOSTILE) <= set(page.locator(".ladder .name").all_inner_texts())
    assert set(HOSTILE) <= set(page.locator(".heat .name").all_inner_texts())
    assert page.locator("main img, main script").count() == 0
    page = look("/replay?file=runs/games/told.jsonl")
    page.get_by_label("Game", exact=True).select_option("1")
    page.locator(".side b", has_text=HOSTILE[0]).wait_for()
    page.get_by_role("link", name="The end").click()
    page.locator(".score", has_text=HOSTILE[1]).wait_for()
    assert page.locator("main img, main script").count() == 0
    page = look("/")
    page.get_by_text("Another partner", exact=True).click()
    page.get_by_label("Type a part of a name").fill(f"growing/0001:{HOSTILE[0]}")
    page.get_by_role("button", name="Deal the items").click()
    page.locator(".token").first.wait_for()
    page.locator(".facts", has_text=HOSTILE[0]).wait_for()
    assert page.locator("main img, main script").count() == 0


@pytest.mark.slow
def test_arena_match(look):
    page = look("/arena")
    page.get_by_label("First occupant").fill("linear")
    page.get_by_label("How many").select_option("100")
    page.get_by_role("button", name="Play the match").click()
    page.locator(".landing").wait_for()
    assert "200 games" in page.locator("table caption").inner_text()
    page.locator(".games .link").first.click()
    page.get_by_text(re.compile("Act 1 of")).wait_for()
    assert " points of ten" in page.locator(".match > .headline").inner_text()
    page.get_by_label("First occupant").fill("linear(")
    page.get_by_role("button", name="Play the match").click()
    page.get_by_role("alert").filter(has_text="an occupant is written").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme"), [(NARROW, "dark"), (WIDE, "light")])
def test_axe(look, size, scheme):
    """Every page in one size and colors; a game at each of its moments."""
    page = look("/", size, scheme)
    assert found_by_axe(page) == [], "the choice of a partner"
    begin(page, "heuristic", Hints="random")
    page.locator(".hint", has_text="Psst").wait_for()
    assert found_by_axe(page) == [], "the person's turn"
    page.get_by_label("Say it in your own words").fill("bye")
    page.get_by_role("button", name="Say", exact=True).click()
    page.get_by_role("button", name="Yes, really").wait_for()
    assert found_by_axe(page) == [], "a question about a sentence"
    page.keyboard.press("Escape")
    page.locator(".confirm").wait_for(state="detached")
    page.get_by_role("button", name="Walk away").click()
    page.get_by_role("button", name="Yes: walk away").click()
    page.locator(".plane").wait_for()
    page.get_by_text("In numbers").click()
    page.locator(".judgement").first.wait_for()
    assert found_by_axe(page) == [], "the result"
    page = look("/scores", size, scheme)
    page.locator(".score-cards").wait_for()
    assert found_by_axe(page) == [], "the scores"
    page = look("/", size, scheme, toured=False)
    begin(page, "pushover")
    page.locator(".tour").wait_for()
    assert found_by_axe(page) == [], "the tour"
    page = look("/league", size, scheme)
    page.locator(".heat").wait_for()
    page.get_by_role("button", name="Watch a game").click()
    page.locator(".stepper .facts-list").wait_for()
    assert found_by_axe(page) == [], "the league"
    page.get_by_role("link", name="Compare runs").click()
    page.get_by_label("growing/0002").check()
    page.get_by_role("button", name="Compare").click()
    page.locator("#settings").wait_for()
    assert found_by_axe(page) == [], "a comparison"
    page = look("/replay?file=runs/games/told.jsonl", size, scheme)
    page.locator(".facts-list").wait_for()
    assert found_by_axe(page) == [], "the replay"
    page.get_by_role("link", name="The end").click()
    page.locator(".plane").wait_for()
    assert found_by_axe(page) == [], "the replay's end"
    page = look("/arena", size, scheme)
    page.get_by_label("How many").select_option("100")
    page.get_by_role("button", name="Play the match").click()
    page.locator(".landing").wait_for()
    assert found_by_axe(page) == [], "the arena"


# -- Returning visitors in a browser: recorded games, scores, the tour, watched games----------------------------


def test_opening_a_downloaded_game(look, tmp_path):
    page = look("/replay")
    page.get_by_text("Act 1 of").wait_for()
    record = record_of(apply(State(SCENARIO), Action(Act.DISAGREE)), ("human", "somebody far away"), source="lewis")
    (tmp_path / "game.json").write_text(f"{to_line(record)}\n")
    (tmp_path / "none.json").write_text("<b>hello</b>")
    field = page.get_by_label("Open a file")
    field.set_input_files(tmp_path / "none.json")
    page.get_by_role("alert").filter(has_text="This file cannot be opened").wait_for()
    field.set_input_files(tmp_path / "game.json")
    page.get_by_text("Person and somebody far away: no deal, 1 act. From a file of yours").wait_for()
    page.get_by_text("No act has an exact value here").wait_for()


def test_tour_by_keyboard(look, address):
    page = look("/", NARROW, toured=False)
    begin(page, "pushover")
    for number in range(1, 5):
        page.locator(".tour", has_text=f"{number} of 4").wait_for()
        page.locator(".toured").wait_for()
        page.keyboard.press("Enter")
    page.locator(".tour").wait_for(state="detached")
    page.locator(".game:focus").wait_for()  # whose keys are heard at once
    page.get_by_role("button", name="Leave").click()  # a running game would be resumed
    begin(page, "pushover")
    assert page.locator(".tour").count() == 0


@pytest.mark.slow
def test_stopped_server_is_announced(browser, tmp_path):
    page = browser.new_context().new_page()
    with serving(tmp_path) as at:
        page.goto(f"{at}/")
        begin(page, "tough")
        assert page.locator(".stopped").count() == 0
    page.keyboard.press("Escape")  # the tour
    page.locator(".act.propose:enabled").wait_for()
    page.keyboard.press("p")
    page.locator(".stopped[role=alert]").wait_for()
    page.context.close()


@pytest.mark.slow
def test_watching_two_members(look):
    page = look("/league")
    page.get_by_label("Who opens").select_option(label=HOSTILE[0])
    page.get_by_label("Who answers").select_option(label="pushover")
    page.get_by_role("button", name="Watch a game").click()
    page.locator("#watched .side.me b", has_text=HOSTILE[0]).wait_for()
    page.locator("#watched output", has_text="Act 2 of 2").wait_for()  # nothing was pressed
    page.locator("#watched output", has_text="The end").wait_for()
    page.get_by_role("button", name="Play", exact=True).click()
    page.locator("#watched output", has_text="Act 1 of 2").wait_for()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play", exact=True).wait_for()


def test_watched_game_follows_the_league(folder):
    run = folder / "runs" / "league" / "0001"
    record = play_members(run, ("pushover", "heuristic"), 5)
    assert (record.rules.max_turns, record.source, record.occupants) == (
        3, "lewis, split train", ("pushover", "heuristic"),
    )  # fmt: skip
    assert play_members(run, ("pushover", "heuristic"), 5) == record
    with pytest.raises(RunViewError, match="has no member 'nobody'"):
        play_members(run, ("pushover", "nobody"), 5)
