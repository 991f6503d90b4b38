"""What people come back for, in a browser: a game found again, the deal of the day, scores, the tour of the table."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from dond_marl.envs.turn import only_action, turn_of
from dond_marl.game import Act, Action, State, apply
from dond_marl.records.record import record_of, to_line
from league.web.arena.watch import watched
from league.web.league.follower import RunViewError
from league.web.play.daily import PARTNERS, daily_of, today
from partners.best_response import BestResponse
from tests.command import in_process
from tests.league.web.browser import HOSTILE, NARROW, SCENARIO, begin, games_in, missing, serving

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def lose(page):
    """End the game at once, by walking away."""
    page.wait_for_function("document.querySelector('.act.propose:enabled')")
    page.get_by_role("button", name="Walk away").click()
    page.get_by_role("button", name="Really?").click()


@pytest.mark.slow
def test_a_game_is_analysed_and_its_link_leads_to_it_after_the_server_was_started_anew(look, folder, browser):
    page = look()
    begin(page, "pushover")
    page.get_by_role("button", name="Propose").click()
    page.get_by_text("Every one of your acts was a good one.").wait_for()
    page.locator(".judgement", has_text="best").wait_for()
    link = page.get_by_role("link", name="Link to this game").get_attribute("href")
    assert page.get_by_role("link", name="Step through it").get_attribute("href") == link
    number = len(games_in(folder))
    assert link == f"/replay?file=runs%2Fhuman%2Fgames.jsonl&game={number}"
    begin_again = page.get_by_role("button", name="Next game")
    begin_again.click()
    lose(page)
    page.get_by_text("gave away").first.wait_for()
    with serving(folder, "--pause", "0") as anew:
        context = browser.new_context()
        other = context.new_page()
        other.goto(f"{anew}{link}")
        other.locator(".game-chooser option:checked").wait_for(state="attached")
        assert other.locator(".game-chooser option:checked").inner_text().startswith(f"{number}. human and pushover")
        other.get_by_text("Every one of your acts was a good one.").wait_for()
        picture = other.get_by_role("link", name="Picture to share").get_attribute("href")
        with urllib.request.urlopen(f"{anew}{picture}") as answer:
            assert answer.read(8) == b"\x89PNG\r\n\x1a\n"
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{anew}{picture}0000")
        context.close()


def test_a_downloaded_game_is_opened_again_and_what_is_none_is_told(look, tmp_path):
    page = look("/replay")
    page.get_by_text("Act 1 of").wait_for()
    record = record_of(apply(State(SCENARIO), Action(Act.DISAGREE)), ("human", "somebody far away"), source="lewis")
    (tmp_path / "game.json").write_text(f"{to_line(record)}\n")
    (tmp_path / "none.json").write_text("<b>hello</b>")
    field = page.get_by_label("Open a file")
    field.set_input_files(tmp_path / "none.json")
    page.get_by_role("alert").filter(has_text="This file cannot be opened").wait_for()
    field.set_input_files(tmp_path / "game.json")
    page.get_by_text("human and somebody far away: no deal, 1 act. From a file of yours").wait_for()
    page.get_by_text("nobody knows how somebody far away would have answered").wait_for()


def test_the_deal_of_the_day_is_the_same_for_everybody_and_counts_once_a_day(look, folder):
    deal = today()
    page = look()
    page.get_by_text("Play it to begin a streak.").wait_for()
    page.get_by_role("button", name="Play today's deal").click()
    page.locator(".facts", has_text=f"with {deal.partner}").wait_for()
    lose(page)
    page.locator(".daily-streak", has_text="Played: 0 of 10 points. Streak: 1 day.").wait_for()
    first = games_in(folder)[-1]
    assert (first.seed, deal.partner in first.occupants) == (deal.seed, True)
    yesterday = {"last": str(daily_of(deal.day.fromordinal(deal.day.toordinal() - 1)).day), "streak": 4}
    page.evaluate("kept => localStorage.setItem('daily', JSON.stringify(kept))", {**yesterday, "score": 3, "whole": 10})
    page.goto(page.url)
    page.get_by_text("Streak: 4 days. Play today to go on.").wait_for()
    page.get_by_role("button", name="Play today's deal").click()
    lose(page)
    page.locator(".daily-streak", has_text="Streak: 5 days.").wait_for()
    again = games_in(folder)[-1]
    assert (again.scenario, again.occupants) == (first.scenario, first.occupants)
    page.get_by_role("button", name="Swap sides").click()  # is another game, and counts for nothing
    page.locator(".token").first.wait_for()
    assert json.loads(page.evaluate("localStorage.daily"))["streak"] == 5


def test_the_tour_has_four_steps_by_keyboard_and_is_shown_once(look):
    page = look("/", NARROW, toured=False)
    begin(page, "pushover")
    for number in range(1, 5):
        page.locator(".tour", has_text=f"{number} of 4").wait_for()
        page.locator(".toured").wait_for()
        page.keyboard.press("Enter")
    page.locator(".tour").wait_for(state="detached")
    page.locator(".game:focus").wait_for()  # whose keys are heard at once
    page.goto(page.url)
    begin(page, "pushover")
    assert page.locator(".tour").count() == 0


@pytest.mark.slow
def test_the_tour_is_left_by_escape_and_is_not_shown_again(look):
    page = look("/", toured=False)
    begin(page, "pushover")
    page.locator(".tour").wait_for()
    page.keyboard.press("Escape")
    page.locator(".tour").wait_for(state="detached")
    assert page.evaluate("localStorage.toured") == "yes"


@pytest.mark.slow
def test_scores_grow_with_every_game(look, folder):
    page = look("/scores")
    page.locator(".score-cards, .empty").wait_for()
    before = len(games_in(folder))
    page.goto(page.url.replace("/scores", "/"))
    begin(page, "tough")
    lose(page)
    page.get_by_role("link", name="Your scores").click()
    card = page.locator(".score-cards li", has_text="tough")
    card.wait_for()
    assert "of" in card.inner_text()
    page.get_by_text("Counted from runs/human/games.jsonl on this machine").wait_for()
    assert len(games_in(folder)) == before + 1


def test_every_day_has_a_deal_of_its_own():
    days = [daily_of(today().day.fromordinal(today().day.toordinal() + n)) for n in range(200)]
    assert {deal.partner for deal in days} == set(PARTNERS)
    assert len({deal.seed for deal in days}) == 200
    assert daily_of(days[0].day) == days[0]


def test_two_members_of_a_league_are_picked_and_their_game_goes_on_by_itself(look):
    page = look("/league")
    page.get_by_label("Who opens").select_option(label=HOSTILE[0])
    page.get_by_label("Who answers").select_option(label="pushover")
    page.get_by_role("button", name="Watch a game").click()
    page.locator(".watch .view.me .name", has_text=HOSTILE[0]).wait_for()
    page.locator(".watch output", has_text="Act 2 of 2").wait_for()  # nothing was pressed
    page.locator(".watch output", has_text="The end").wait_for()
    page.get_by_role("button", name="Play", exact=True).click()
    page.locator(".watch output", has_text="Act 1 of 2").wait_for()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play", exact=True).wait_for()


def test_a_game_to_watch_is_the_leagues_own_kind_and_the_same_for_a_seed(folder):
    run = folder / "runs" / "league" / "0001"
    record = watched(run, ("pushover", "heuristic"), 5)
    assert (record.rules.max_turns, record.source, record.occupants) == (
        3, "lewis, split train", ("pushover", "heuristic"),
    )  # fmt: skip
    assert watched(run, ("pushover", "heuristic"), 5) == record
    with pytest.raises(RunViewError, match="has no member 'nobody'"):
        watched(run, ("pushover", "nobody"), 5)


def test_a_game_to_watch_reveals_values_where_the_league_does(tmp_path):
    text = (
        "env: {scenarios: lewis, split: train, max_turns: 4, reveal_partner_utilities: true}\n"
        "league: {rounds: 1, block_size: 2, evaluate: false}\n"
        "members: [heuristic, {kind: best_response, name: knows, to: heuristic}]\n"
        "logging: {output_dir: runs}\n"
    )
    (tmp_path / "league.yaml").write_text(text)
    assert in_process("league", "--config", "league.yaml", "--quiet", cwd=tmp_path).returncode == 0
    (run,) = (tmp_path / "runs").iterdir()
    for seed in range(5):
        record = watched(run, ("knows", "heuristic"), seed)
        opening = turn_of(State(record.scenario, record.rules), prior="lewis", reveal_partner_utilities=True)
        assert record.actions[0] == only_action(BestResponse("heuristic").act(opening))
