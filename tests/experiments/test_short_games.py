"""Short games as tests of learning: the shares of an exploitability, one learner, and the whole command, tiny."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.game import Act
from dond_marl.occupants import seat_occupant
from dond_marl.seats import Cause, Decisions, Traits, Turns, constant
from experiments.short_games import (
    TOLERANCE,
    EquilibriumGap,
    ShortGames,
    ShortGamesConfig,
    ShortLearner,
    ShortRun,
    equilibrium,
    measure_gap,
    parse_short_games,
    short_games_lines,
    short_games_section,
    train_learner,
)
from league.settings.read import ConfigError, load_config
from tests.command import dond

ROOT = Path(__file__).resolve().parents[2]
TINY = """
comparison: {turns: [2], seeds: 1}
training: {rollout: 1, num_envs: 32, minibatch: 64, epochs: 1, hidden: [8], num_train_steps: 60}
arms: [{name: plain}, {name: williams, training: {algo: reinforce, lr: 0.01}}]
output_dir: "FOLDER"
"""


class Taker:
    """Claims everything, and takes whatever is worth something to it."""

    traits = Traits(deterministic=True, memoryless=True)

    def act(self, turns: Turns) -> Decisions:
        worth = (turns.last_partner_offer_for_me.astype(int) * turns.my_utilities).sum(axis=1)
        answer = np.where(worth > 0, Act.AGREE, Act.DISAGREE)
        act = np.where(turns.act_mask[:, Act.AGREE], answer, Act.PROPOSE).astype(np.int8)
        return Decisions(
            act,
            (turns.counts * (act == Act.PROPOSE)[:, None]).astype(np.int8),
            constant(1.0, np.float32, turns.size),
            constant(Cause.FREE, np.int8, turns.size),
        )


def tiny(folder: Path, *overrides: str) -> ShortGamesConfig:
    path = folder / "short_games.yaml"
    path.write_text(TINY.replace("FOLDER", str(folder / "runs")))
    return load_config(path, overrides, ShortGamesConfig)


def test_parts_of_exploitability_by_hand():
    """Of 2.8 points that seat_0 could gain, any rational partner concedes 3.1: its answers are harder than rational."""
    rational, own = EquilibriumGap((9.0, 3.2), (9.1, 3.2)), EquilibriumGap((6.0, 4.0), (8.8, 4.5))
    assert own.exploitability == pytest.approx((2.8, 0.5)) and own.nash_conv == pytest.approx(3.3)
    assert own.conceded_points(rational) == pytest.approx((3.1, -0.8)) and own.weakness(rational) == pytest.approx(
        (-0.3, 1.3)
    )
    assert own.distance(rational) == pytest.approx(3.0) and not own.is_equilibrium


@pytest.mark.parametrize("player", ["heuristic", "tough"])
def test_parts_sum_to_exploitability(player):
    rational, own = equilibrium(2), measure_gap(seat_occupant(player), 2)
    parts = np.add(own.conceded_points(rational), own.weakness(rational))
    assert parts == pytest.approx(own.exploitability, abs=1e-12) and min(own.exploitability) > -1e-9


def test_taker_concedes_everything():
    """Two turns: the best offer to a player that accepts any value earns 8.79; claiming everything leaves nothing."""
    own, rational = measure_gap(Taker(), 2), equilibrium(2)
    assert own.values == (0.0, 0.0) and own.responses == (pytest.approx(8.79, abs=0.005), 0.0)
    assert own.conceded_points(rational) == pytest.approx(rational.responses)
    assert own.weakness(rational)[0] == pytest.approx(8.79 - 9.06, abs=0.02)


def test_equilibria_within_tolerance():
    found = equilibrium(2)
    assert found.values == pytest.approx((9.06, 3.19), abs=0.01) and found.nash_conv < 0.001
    assert found.matches(found) and min(found.exploitability) >= 0
    near = EquilibriumGap((found.values[0] - TOLERANCE - 0.01, found.values[1]), (found.values[0], found.values[1]))
    assert not near.is_equilibrium and not near.matches(found)
    another = EquilibriumGap((9.9, 2.7), (9.95, 2.75))
    assert another.is_equilibrium and not another.matches(found)


def test_learner_is_deterministic(tmp_path):
    training = tiny(tmp_path).training
    once, again, other = (train_learner(training, 2, seed) for seed in (0, 0, 1))
    assert once == again != other and once.decisions >= 60 and once.standing.nash_conv > 0


@pytest.mark.slow
def test_self_play_finds_an_equilibrium():
    config = load_config(ROOT / "experiments" / "configs" / "short_games.yaml", (), ShortGamesConfig)
    longer = next(arm for arm in config.arms if arm.name == "ppo_longer")
    standing = train_learner(config.training_of(longer), 2, 0).standing
    assert standing.is_equilibrium and standing.distance(equilibrium(2)) <= 2 * TOLERANCE


def test_command_resumes(tmp_path, capsys):
    tiny(tmp_path)
    words = ["experiment", "short-games", "--config", tmp_path / "short_games.yaml"]
    assert dond(*words, "--results", tmp_path / "found.jsonl") == 0
    shown = capsys.readouterr().out
    assert "2/2 2 turns, williams, seed 0: " in shown and "9.06 and 3.19" in shown
    rows = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert rows[0]["arms"]["williams"] == {"algo": "reinforce", "lr": 0.01}
    assert [row.get("arm") for row in rows[1:]] == [None, "plain", "williams"]
    stored = next((tmp_path / "runs" / "learners").iterdir())
    document = json.loads(stored.read_text())
    stored.write_text(json.dumps({**document, "decisions": 12345}))
    assert dond(*words) == 0
    again = (tmp_path / "runs" / "results.jsonl").read_text()
    assert "12345" in again and len(again.splitlines()) == len(rows)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("comparison.turns=[2,5]", "exact in games of 2 to 4 turns, each named once; got"),
        ("comparison.turns=[3,3]", "each named once"),
        ("training.reward=spite", "the equilibria are of own points"),
        ("training.init_from=runs/x.json", "learners start from random weights"),
        ("arms=[{name: a},{name: a}]", "names of arms must be distinct; got a, a"),
        ("arms=[{name: a, training: {entropy: 0.1}}]", "a: training.entropy: "),
    ],
)
def test_invalid_settings_are_refused(tmp_path, override, message):
    with pytest.raises(ConfigError, match="(?s)" + message.replace("[", r"\[")):
        tiny(tmp_path, override)


def test_results_round_trip_and_table():
    rational, near, far = (
        EquilibriumGap((9.0, 3.2), (9.0, 3.2)),
        EquilibriumGap((9.1, 3.1), (9.2, 3.15)),
        EquilibriumGap((5, 5), (8, 6)),
    )
    runs = [ShortRun(2, "ppo", seed, ShortLearner(100, 0.9, standing)) for seed, standing in enumerate((near, far))]
    found = ShortGames({2: rational}, {"ppo": {"lr": 0.003}}, runs)
    assert parse_short_games(short_games_lines(found).splitlines()) == found
    (table,) = short_games_section(found).blocks
    assert table.caption == "2 turns" and [row.label for row in table.rows] == ["the equilibrium", "ppo"]
    cells = dict(zip(table.heads, table.rows[1].cells, strict=True))
    assert (cells["own decisions"], cells["an equilibrium"], cells["this one"]) == ("100", "1 of 2", "1 of 2")
    assert cells["points, seat_0"].startswith("7.05 ±") and cells["NashConv"].startswith("2.07 ±")  # of 0.15 and 4
    with pytest.raises(InputError, match="make them again: dond experiment short-games"):
        parse_short_games(["{}"])
