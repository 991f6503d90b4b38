"""OpenSpiel's players and ours at one table: who plays whom, kept and read again."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from itertools import compress
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from league.experiments.field.bargaining import GAMES, OURS, Row, Table, lines, markdown, perform
from league.experiments.field.psro import THEIRS, Oracle, Oracles, theirs
from league.experiments.field.psro_league import OURS as LEAGUE
from tests.command import dond

pytest.importorskip("pyspiel", reason="pip install -e '.[examples]' brings OpenSpiel")


def test_everybody_meets_everybody_in_both_games_and_what_is_kept_is_not_played_again(tmp_path):
    words = ("experiment", "bargaining", "--player", "linear", "--simulations", "8", "--instances", "2")
    words = (*words, "--output-dir", tmp_path / "kept", "--results", tmp_path / "results.jsonl")
    assert dond(*words) == 0
    _, *rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [row["game"] for row in rows] == ["bargaining"] * 7 + ["deal_or_no_dialog"] * 6
    oracle = rows[0]  # instances 0 and 1 of OpenSpiel's file
    assert (oracle["who"], oracle["deals"], oracle["games"]) == ("full_information", 1.0, 2)
    kept = sorted((tmp_path / "kept" / "pairs").iterdir())
    for path in kept[1:]:  # all but one are played again
        path.unlink()
    assert dond(*words) == 0
    _, *again = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    # OpenSpiel's own search in C++ plays other games whenever it is asked, whatever its seed.
    same = [row["game"] != "bargaining" or "is_mcts" not in (row["who"], row["against"]) for row in rows]
    assert sum(same) == 10 and list(compress(again, same)) == list(compress(rows, same))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence:UserWarning")  # OpenSpiel's, of its own code
def test_response_oracles_learn_once_and_sit_at_both_tables(tmp_path):
    pytest.importorskip("cvxpy", reason="OpenSpiel's PSRO needs it: pip install cvxpy")
    said, arguments = [], (240, 0, tmp_path / "psro")
    oracles = Oracles(*arguments, said.append)
    again = Oracles(*arguments, said.append)  # nobody learns again
    assert oracles.learned() == again.learned() and said[:3] == said[3:]
    learned = oracles.learned()
    assert [(each["who"], each["game"]) for each in learned] == [*((THEIRS, kind) for kind in GAMES), (LEAGUE, OURS)]
    for each in learned:
        assert each["decisions"] >= 240 and each["seconds"] > 0
        assert [sum(shares) for shares in each["shares"]] == pytest.approx([1, 1])
    assert oracles.what == again.what
    path = next((tmp_path / "psro").glob("*.safetensors"))
    assert hashlib.sha256(path.read_bytes()).hexdigest() in str(oracles.what), "pairs are named by the weights"
    rows = perform([], 2, 2, tmp_path / "pairs", said.append, oracles)
    assert rows == perform([], 2, 2, tmp_path / "pairs", said.append, again)
    table, other = Table(OURS, {}), Table(OURS, {})
    oracles.sit(table)
    again.sit(other)
    for players in ((THEIRS, LEAGUE), (LEAGUE, THEIRS), (THEIRS, THEIRS)):
        assert [table.play(number, players) for number in range(4)] == [
            other.play(number, players) for number in range(4)
        ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence:UserWarning")  # OpenSpiel's, of its own code
def test_what_openspiels_oracles_learn_is_a_function_of_the_seed(tmp_path):
    pytest.importorskip("cvxpy", reason="OpenSpiel's PSRO needs it: pip install cvxpy")
    code = "import sys; from pathlib import Path; from league.experiments.field.psro import theirs\n"
    code += "from league.experiments.field.bargaining import OURS, Table\n"
    code += "theirs(Table(OURS, {}).game, 60, 0, Path(sys.argv[1]))"
    words = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "alone")]
    subprocess.run(words, check=True, cwd=Path(__file__).parents[4])  # where it is the first to load OpenSpiel's parts
    before, learned = random.getstate(), []
    for number in range(3):
        found = theirs(Table(OURS, {}).game, 60, number // 2, tmp_path / str(number))
        assert random.getstate() == before, "whoever draws besides is left alone"
        random.seed(number)
        before = random.getstate()
        learned.append((found.shares, found.decisions, found.digest))
    alone = next((tmp_path / "alone").glob("*.safetensors")).read_bytes()
    assert hashlib.sha256(alone).hexdigest() == learned[0][-1]
    assert learned[0] == learned[1] != learned[2]


def test_an_oracle_of_openspiel_knows_the_chance_of_every_legal_act_and_counts_what_it_learns_from():
    rl_environment = pytest.importorskip("open_spiel.python.rl_environment")
    env, tally = rl_environment.Environment(Table(OURS, {}).game), [0]
    oracle = Oracle(env, 0, tally)
    state = env.game.new_initial_state()
    state.apply_action(0)
    chances = oracle(state)
    assert list(chances) == state.legal_actions() and sum(chances.values()) == pytest.approx(1)
    step = env.reset()
    oracle.freeze()
    assert oracle.step(step).action in step.observations["legal_actions"][0] and tally == [0]
    oracle.unfreeze()
    oracle.step(step)
    assert tally == [1] and not oracle.copy_with_noise().is_frozen()


def test_the_table_says_what_response_oracles_learned_from_and_when_it_was_played():
    one = Row(OURS, "psro_v2", "linear", 4, [1, 2, 3, 4], [4, 3, 2, 1], versions={"commit": "abc", "numpy": "2"})
    rows = [one._replace(date=day) for day in ("2026-11-23", "2026-11-24")]
    one_of = {"who": "psro_v2", "game": OURS, "decisions": 1234, "seconds": 5.6, "shares": [[0.25, 0.75], [1.0]]}
    text = markdown(lines(rows, 8, [one_of, {**one_of, "who": "league_psro", "seconds": None}]))
    assert f"`psro_v2` learned in `{OURS}` from 1,234 own decisions in 6 CPU seconds; the shares" in text
    assert f"`league_psro` learned in `{OURS}` from 1,234 own decisions; the shares" in text, "stopped in between"
    assert text.count("25%, 75% and 100%, by seat") == 2
    assert text.endswith("Played 2026-11-23 and 2026-11-24 with numpy 2.\n")
    assert "Played" not in markdown(lines([one._replace(versions=None)], 8))


def test_the_unit_of_an_interval_is_the_instance_and_not_the_game():
    own, left = [1.0, 3.0, 8.0, 6.0, 4.0, 4.0], [2.0, 2.0, 5.0, 9.0, 0.0, 4.0]  # both orders of three instances
    _, row = map(json.loads, lines([Row(OURS, "linear", "tough", 6, own, left)], 8).splitlines())
    for key, means in (("points", [2, 7, 4]), ("left", [2, 7, 2])):
        half = stats.t.ppf(0.975, 2) * np.std(means, ddof=1) / np.sqrt(3)
        assert row[key] == pytest.approx([np.mean(means), np.mean(means) - half, np.mean(means) + half], abs=1e-4)
    _, mirror = map(json.loads, lines([Row(OURS, "linear", "linear", 3, own[:3], left[:3])], 8).splitlines())
    half = stats.t.ppf(0.975, 2) * np.std(own[:3], ddof=1) / np.sqrt(3)  # one order: a game an instance
    assert mirror["points"] == pytest.approx([4, 4 - half, 4 + half], abs=1e-4)
