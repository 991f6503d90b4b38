"""Returning visitors in a browser: recorded games, scores, the tour, watched games."""

from __future__ import annotations

import pytest

from dond.web.league_follower import RunViewError, play_members
from dond_marl.envs.turn import only_action, turn_of
from dond_marl.game import Act, Action, State, apply
from dond_marl.records.record import record_of, to_line
from partners.best_response import BestResponse
from tests.command import in_process
from tests.dond.web.browser import HOSTILE, NARROW, SCENARIO, begin, missing, serving

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


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
    page.get_by_text("human and somebody far away: no deal, 1 act. From a file of yours").wait_for()
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


def test_watching_two_members(look):
    page = look("/league")
    page.get_by_label("Who opens").select_option(label=HOSTILE[0])
    page.get_by_label("Who answers").select_option(label="pushover")
    page.get_by_role("button", name="Watch a game").click()
    page.locator("#watched .view.me .name", has_text=HOSTILE[0]).wait_for()
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


def test_watched_game_reveals_values(tmp_path):
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
        record = play_members(run, ("knows", "heuristic"), seed)
        opening = turn_of(State(record.scenario, record.rules), prior="lewis", reveal_partner_utilities=True)
        assert record.actions[0] == only_action(BestResponse("heuristic").act(opening))
