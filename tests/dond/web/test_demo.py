"""The demo: its JavaScript plays the same games as Python (acts, masks, words, ends, scores), and a browser game."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest

from dond.cli.main import main
from dond.web.demo import GAME_SCRIPTS, NAMES, defaults, page
from dond.web.frame import STATIC
from dond_marl.game import Action, Ending, Rules, State, apply, may_agree
from dond_marl.occupants import parse_spec, seat_occupant
from dond_marl.records.transcript import phrase_act
from dond_marl.rollout import Noise, rollout
from dond_marl.scenarios.sources import open_source
from partners.scripted.generated import describe_spec, name_programs
from tests.dond.web.browser import NARROW, WIDE, browsing, found_by_axe, missing

NODE = shutil.which("node")
# Plays the games on standard input: each a scenario, rules, two names, and the noise of every turn.
DRIVER = """
const told = JSON.parse(require("fs").readFileSync(0, "utf8"));
const played = told.games.map(({ scenario, rules, names, noise }) => {
  let state = newGame(scenario, rules);
  const masks = [], words = [];
  while (!state.outcome) {
    const name = names[mover(state)];
    masks.push(actMask(state));
    const action = PARTNERS[name.split("(")[0]](view(state, noise[state.history.length]), told.parameters[name]);
    words.push(inEnglish(action, scenario.counts, state.history.length, rules.disagree === "ends"));
    state = apply(state, action);
  }
  return { history: state.history.map(({ act, oA }) => [act, oA]), masks, words, outcome: state.outcome };
});
const programs = Object.entries(told.parameters).filter(([, parameters]) => "program" in parameters);
const words = Object.fromEntries(programs.map(([name, parameters]) => [name, described(parameters)]));
console.log(JSON.stringify({ names: Object.keys(PARTNERS), played, words }));
"""
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: apt-get install nodejs")


def in_script(games):
    """What the scripts of the demo make of the games."""
    source = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in GAME_SCRIPTS) + DRIVER
    parameters = {name: defaults(name) for name in NAMES}
    for name in {name for game in games for name in game["names"] if name.startswith("generated(")}:
        parameters[name] = {**defaults("generated"), "program": parse_spec(name).parameters["program"]}
    given = json.dumps({"games": games, "parameters": parameters})
    done = subprocess.run([NODE, "-e", source], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_python(pair, scenarios, rules, seed):
    """The same games by the one play loop, and what a script needs to repeat them."""
    games = rollout(tuple(map(seat_occupant, pair)), scenarios, rules, seed=seed)
    noise = Noise(seed, (), scenarios.size)
    turns = np.stack([noise.turn_noise(turn)[:, :4] for turn in range(rules.max_turns)], axis=1)
    drawn = [name_programs(name, noise.game_noise(seat)[:, 0]) for seat, name in enumerate(pair)]
    given = [
        {
            "scenario": {"counts": counts.tolist(), "utilities": values.tolist()},
            "rules": {"maxTurns": rules.max_turns, "disagree": rules.disagree},
            "names": names,
            "noise": luck.tolist(),
        }
        for counts, values, luck, *names in zip(scenarios.counts, scenarios.utilities, turns, *drawn, strict=True)
    ]
    told = []
    for row in range(scenarios.size):
        state = State(scenarios.scenario(row), rules)
        masks, words = [], []
        for turn in range(int(games.turns[row])):
            action = Action(int(games.act[row, turn]), tuple(games.oA[row, turn].tolist()))
            masks.append([True, True, may_agree(state, state.mover), True, True])
            state = apply(state, action)
            said = state.history[-1]
            words.append(phrase_act(said, state.scenario.counts, variant=turn, final=rules.disagree == "ends"))
        assert state.outcome is not None
        history = [[int(action.act_type), list(action.oA)] for action in state.history]
        shared = state.outcome.allocation
        outcome = {
            "ending": Ending(state.outcome.ending).name,
            "allocation": None if shared is None else [list(items) for items in shared],
            "scores": list(state.outcome.scores),
        }
        told.append({"history": history, "masks": masks, "words": words, "outcome": outcome})
    return given, told


def both(pairs, each, seed):
    """Play ``each`` scenarios with every pair, in Python and in the scripts; they are the same to the bit.

    Three in five games are long and a refusal leaves them open, so that much is said in them.
    """
    given, expected, start = [], [], 0
    for pair in pairs:
        for rules, number in ((Rules(disagree="rejects"), 3 * each // 5), (Rules(), each // 5), (Rules(3), each // 5)):
            scenarios = open_source("lewis").block(seed, start, number)
            some, told = in_python(pair, scenarios, rules, seed + start)
            given, expected, start = given + some, expected + told, start + number
    found = in_script(given)
    assert sorted(found["names"]) == sorted(NAMES)
    assert found["words"] == {name: describe_spec(name) for name in found["words"]}
    for game, ours, theirs in zip(given, expected, found["played"], strict=True):
        assert theirs == ours, (game["names"], game["rules"], game["scenario"])
    return expected


@needs_node
def test_partners_play_as_in_python():
    pairs = [pair for name in NAMES for pair in ((name, "random"), ("random", name))]
    told = both(pairs, 30, 11)
    assert {game["outcome"]["ending"] for game in told} == {"AGREE", "END", "DISAGREE", "TURN_LIMIT"}
    assert {act for game in told for act, _ in game["history"]} == set(range(5))


@needs_node
def test_generated_programs_play_as_in_python():
    """Another program in each seat of each game: the same acts, and the same words for each program."""
    played = both([("generated", "generated")], 600, 13)
    assert sum(len(game["history"]) for game in played) > 2_500


@needs_node
@pytest.mark.slow
def test_ten_thousand_games_equal_python():
    pairs = [(first, second) for first in NAMES for second in NAMES]
    told = both(pairs, 20, 12)
    assert len(told) == 20 * len(NAMES) ** 2


@needs_node
def test_illegal_acts_are_errors():
    source = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in GAME_SCRIPTS)
    source += """
      const scenario = { counts: [1, 2, 2], utilities: [[4, 1, 2], [0, 4, 1]] };
      const start = newGame(scenario, { maxTurns: 10, disagree: "ends" });
      const refused = [{ act: AGREE, oA: [0, 0, 0] }, { act: PROPOSE, oA: [2, 0, 0] }, { act: INSIST, oA: [0, -1, 0] },
                       { act: PROPOSE, oA: [0.5, 0, 0] }, { act: 5, oA: [0, 0, 0] }];
      const says = (action) => { try { apply(start, action); return 0; } catch (error) { return 1; } };
      console.log(refused.map(says).join(""));
    """
    done = subprocess.run([NODE, "-e", source], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "11111"


def test_page_is_one_small_file():
    text = page()
    assert len(text.encode()) <= 300_000
    assert "<!-- " not in text
    assert "src=" not in text and "url(http" not in text and "fetch(" not in text


def test_demo_command(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "some" / "place")]) == 0
    assert (tmp_path / "some" / "place" / "index.html").read_text(encoding="utf-8") == page()
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert "is a file; name a folder" in capsys.readouterr().err


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
@pytest.mark.parametrize(
    ("size", "scheme"), [pytest.param(WIDE, "light", marks=pytest.mark.slow), (NARROW, "dark")], ids=["wide", "narrow"]
)
def test_game_by_keys_in_a_file(tmp_path, size, scheme):
    (tmp_path / "index.html").write_text(page(), encoding="utf-8")
    problems: list[str] = []
    asked: set[str] = set()
    with browsing() as browser:
        context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        window = context.new_page()
        window.set_default_timeout(60_000)  # a busy machine is no failure
        window.on("pageerror", lambda error: problems.append(str(error)))
        window.on("console", lambda line: problems.append(line.text))
        window.on("request", lambda request: asked.add(request.url.split(":")[0]))
        window.goto((tmp_path / "index.html").as_uri())
        assert found_by_axe(window) == []
        window.get_by_text("Stubborn", exact=True).click()
        window.get_by_label("Who opens").select_option("0")
        window.get_by_role("button", name="Deal the items").click()
        window.keyboard.press("p")  # everything that is worth anything: nobody stubborn takes it
        window.get_by_text("They insist").or_(window.get_by_text("They offer")).or_(
            window.get_by_text("They want everything")
        ).wait_for()
        assert found_by_axe(window) == []
        window.keyboard.press("d")
        window.get_by_text("Really?").wait_for()
        assert found_by_axe(window) == []
        window.get_by_role("button", name="Yes").click()
        window.get_by_role("heading", name="No deal. You walked away.").wait_for()
        window.get_by_text("Both get nothing. A fair deal was there").wait_for()
        assert found_by_axe(window) == []
        window.get_by_role("button", name="Swap sides").click()
        window.get_by_text("they open").wait_for()
        context.close()
    assert problems == []
    assert asked <= {"file", "data"}
