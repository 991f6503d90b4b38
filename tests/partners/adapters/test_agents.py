"""Programs of the public haggling form in a seat: the form itself, failures, independence of games."""

from __future__ import annotations

import pickle
import shutil

import numpy as np
import pytest

from dond_marl.batch import GameBatch
from dond_marl.conformance import VARIANTS, check_partner
from dond_marl.errors import InputError
from dond_marl.game import Act, Rules, Scenario
from dond_marl.occupants import parse_spec, pin_spec, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source, pack
from dond_marl.seats import Cause, decide
from partners.adapters.agents import Agent, programs_in
from partners.scripted.heuristic import Stubborn, Tough

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
HALF = {
    "half.py": """
import random
games = 0
class Agent:
    def __init__(self, me, counts, values, max_rounds):
        global games
        games += 1
        assert games == 1, 'the module of another game'
        assert all(counts) and len(counts) == len(values)
        self.counts, self.values, self.rounds = counts, values, max_rounds
    def offer(self, o):
        self.rounds -= 1
        worth = lambda items: sum(a * b for a, b in zip(items, self.values))
        print('what a program prints is no answer')
        if o is not None and (2 * worth(o) >= worth(self.counts) or self.rounds == 0):
            return None
        return [c if v and random.random() < 0.9 else 0 for c, v in zip(self.counts, self.values)]
""",
    "half.js": """
let games = 0;
GAMES = typeof GAMES === 'undefined' ? 0 : GAMES; // a global variable, by mistake
module.exports = class {
  constructor(me, counts, values, max_rounds, log) {
    if (++games > 1 || ++GAMES > 1) throw 'the module of another game';
    if (!counts.every(Boolean) || counts.length !== values.length) throw 'types without items';
    Object.assign(this, {counts, values, rounds: max_rounds});
    log('begins'); console.log('what a program prints is no answer');
  }
  offer(o) {
    this.rounds--;
    const worth = items => items.reduce((sum, n, i) => sum + n * this.values[i], 0);
    if (o && (2 * worth(o) >= worth(this.counts) || !this.rounds)) return;
    return this.counts.map((n, i) => this.values[i] && Math.random() < 0.9 ? n : 0);
  }
};
""",
}
FAULTY = {
    "faulty.py": """
class Agent:
    def __init__(self, me, counts, values, max_rounds): self.counts, self.values = counts, values
    def offer(self, o):
        if self.values[0] == 0: raise RuntimeError('no value')
        if self.values[0] == 1: return [100, 0, 0]
        if self.values[0] == 2:
            while True: pass
        return self.counts
""",
    "faulty.js": """
module.exports = class {
  constructor(me, counts, values) { this.counts = counts; this.values = values; }
  offer(o) {
    if (this.values[0] === 0) throw new Error('no value');
    if (this.values[0] === 1) return [100, 0, 0];
    if (this.values[0] === 2) for (;;);
    return this.counts;
  }
};
""",
}
LANGUAGES = ["py", pytest.param("js", marks=needs_node)]


@pytest.fixture(params=LANGUAGES)
def half(request, tmp_path):
    """A program that accepts half, claims at random and fails in the module of another game."""
    return _write(tmp_path, HALF, f"half.{request.param}")


@pytest.fixture(params=LANGUAGES)
def faulty(request, tmp_path):
    """A program that raises, claims too much or never returns, by its value of the first type."""
    return _write(tmp_path, FAULTY, f"faulty.{request.param}")


def _write(folder, programs, name):
    path = folder / name
    path.write_text(programs[name], encoding="utf-8")
    return path


def _scenario(counts=(1, 2, 1), mine=(4, 1, 4), theirs=(4, 1, 4)):
    return Scenario(counts, (mine, theirs))


def test_a_program_conforms_to_the_contract_of_partners(half):
    check_partner(Agent(str(half)), games=4, sources=("uniform",), variants=VARIANTS[1:3])


def test_games_are_equal_whatever_is_played_with_them(half):
    scenarios = open_source("lewis").draw(np.random.default_rng(0), 40)
    together = rollout((Agent(str(half)), Tough()), scenarios, seed=3)
    pickled = pickle.loads(pickle.dumps(Agent(str(half))))
    again = rollout((pickled, Tough()), scenarios, seed=3)
    np.testing.assert_array_equal(together.oA, again.oA)
    np.testing.assert_array_equal(together.scores, again.scores)
    assert (together.cause == Cause.FREE).all()
    assert len(np.unique(together.oA[0], axis=0)) > 1


def test_programs_that_are_asked_together_decide_as_alone(half):
    """In one call of a mixture, at every turn; one that fails costs the others nothing."""
    other = half.with_name(f"other{half.suffix}")
    other.write_text(half.read_text(encoding="utf-8").replace("0.9", "0.5"), encoding="utf-8")
    faulty = _write(half.parent, FAULTY, f"faulty{half.suffix}")
    players = [Agent(str(path), limit=0.1) for path in (half, other, faulty)]
    assert len({player.joint_key for player in players}) == 1
    table, noise = GameBatch(open_source("lewis").block(1, 0, 24)), np.random.default_rng(0).random((24, 8))
    for turn in range(4):
        turns = table.turns(noise, noise)
        if turn % 2 == 0:
            together = Agent.act_jointly(players, [8, 8, 8], turns)
            for player, start in zip(players, (0, 8, 16), strict=True):
                rows = slice(start, start + 8)
                alone = player.act(turns.rows(rows))
                np.testing.assert_array_equal(together.oA[rows], alone.oA)
                np.testing.assert_array_equal(together.act_type[rows], alone.act_type)
                np.testing.assert_array_equal(together.cause[rows], alone.cause)
        table.step(decide(np.zeros(24), turns.counts))
    assert players[2].failures


def test_a_program_agrees_at_its_last_turn_and_claims_before(half):
    scenarios = pack([_scenario()], "uniform")
    games = rollout((Agent(str(half)), Stubborn()), scenarios, Rules(max_turns=10), seed=1)
    assert list(games.act[0, 0:8:2]) == [Act.PROPOSE] * 4
    assert games.act[0, 8] == Act.AGREE


def test_types_without_items_are_left_out(half):
    scenarios = pack([_scenario(counts=(0, 2, 2), mine=(5, 2, 3), theirs=(5, 3, 2))], "uniform")
    games = rollout((Agent(str(half)), Stubborn()), scenarios, seed=1)
    assert (games.cause == Cause.FREE).all()
    assert (games.oA[..., 0] == 0).all()


def test_a_program_that_fails_loses_its_game_by_name(faulty):
    values = [(0, 2, 6), (1, 2, 5), (2, 2, 4), (4, 1, 4)]
    scenarios = pack([_scenario(mine=mine) for mine in values], "uniform")
    agent = Agent(str(faulty), limit=0.5)
    games = rollout((agent, Tough()), scenarios, seed=1)
    assert list(games.act[:, 0]) == [Act.END, Act.END, Act.END, Act.PROPOSE]
    assert (games.scores[:3] == 0).all()
    assert sum(agent.failures.values()) == 3
    assert any("no value" in reason for reason in agent.failures)


def test_a_text_names_a_program_and_pins_it(half):
    spec = pin_spec(parse_spec(f"agent({str(half)!r})"))
    assert spec.needs == {"code", "file"}
    assert isinstance(seat_occupant(spec), Agent)
    half.write_text(half.read_text() + "\n", encoding="utf-8")
    with pytest.raises(InputError):
        seat_occupant(spec)


@pytest.mark.parametrize("name", ["absent.py", "absent.js", "program.txt", "broken.py"])
def test_a_file_that_holds_no_program_is_an_input_error(tmp_path, name):
    (tmp_path / "program.txt").write_text("Agent", encoding="utf-8")
    (tmp_path / "broken.py").write_text("class Agent(:", encoding="utf-8")
    with pytest.raises(InputError):
        Agent(str(tmp_path / name))


@needs_node
def test_a_program_in_javascript_reads_no_file(tmp_path):
    path = tmp_path / "reader.js"
    path.write_text(
        "module.exports = class { constructor(me, counts) { this.counts = counts; }"
        " offer() { const p = this.constructor.constructor('return process')();"
        f" p.getBuiltinModule('fs').readFileSync({str(path)!r}); return this.counts; }} }};",
        encoding="utf-8",
    )
    agent = Agent(str(path))
    games = rollout((agent, Tough()), pack([_scenario()], "uniform"), seed=1)
    assert (games.scores == 0).all()
    assert sum(agent.failures.values()) == 1


def test_a_folder_of_programs_is_a_list_of_pinned_occupants(tmp_path):
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "solution.py").write_text(HALF["half.py"], encoding="utf-8")
    _write(tmp_path, HALF, "half.py")
    names = [seat_occupant(spec).name for spec in programs_in(tmp_path)]
    assert names == ["first", "half", "second"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        list(programs_in(tmp_path / "empty"))


def test_a_program_that_ends_its_process_loses_that_game_alone(tmp_path):
    path = tmp_path / "ends.py"
    path.write_text(
        "import os\n"
        "class Agent:\n"
        "    def __init__(self, me, counts, values, max_rounds): self.counts, self.values = counts, values\n"
        "    def offer(self, o):\n"
        "        if self.values[0] == 1: os._exit(3)\n"
        "        return self.counts\n",
        encoding="utf-8",
    )
    scenarios = pack([_scenario(mine=mine) for mine in [(4, 1, 4), (1, 2, 5), (4, 1, 4)]], "uniform")
    agent = Agent(str(path))
    games = rollout((agent, Tough()), scenarios, seed=1)
    assert list(games.act[:, 0]) == [Act.PROPOSE, Act.END, Act.PROPOSE]
    assert sum(agent.failures.values()) == 1
