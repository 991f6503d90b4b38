"""Oracles: exact best responses to a learner as members, from their settings to a resumed run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space, open_source
from dond_marl.solvers.values import response_value
from dond_marl.statistics import points_of_ten
from league.ledger.export import read_member
from league.ledger.ledger import Ledger
from league.play.match import SEATING
from league.play.values import Entrant, Member
from league.rounds.dry_run import estimate
from league.rounds.opponents import meetings_of, shares_of_newest
from league.settings.read import ConfigError, parse
from league.standings.history import history_of
from tests.killing import killed_and_resumed, run

ROUNDS = 4
SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 3}
league: {seed: 3, rounds: 4, block_size: 4, evaluate: false, floor: 1.0e-9, pairs: 0}
members: [heuristic, random]
learners:
  - {name: main, hidden: [8], rollout: 2, num_envs: 32, minibatch: 64, epochs: 1, decisions: 100, snapshot_every: 0,
     matchmaking: {uniform among fixed: 0.75, oracles: 0.25}}
oracles: [{of: main, kept: 2, newest: 0.8}, {name: mixed, of: main, every: 2, play: sampled}]
logging: {output_dir: "FOLDER"}
"""


def write_settings(folder: Path, name: str = "runs") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(SETTINGS.replace("FOLDER", str(folder / name)))
    return path


def fingerprint(run_folder: Path) -> str:
    with Ledger(run_folder / "ledger.sqlite") as ledger:
        return ledger.fingerprint()


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """The folder of a finished run, played at one go."""
    folder = tmp_path_factory.mktemp("oracles")
    done = run("--config", write_settings(folder))
    assert done.returncode == 0, done.stderr
    return folder / "runs" / "0001"


def test_oracle_joins_with_the_weights_of_its_learner(finished):
    with Ledger(finished / "ledger.sqlite") as ledger:
        members = {member.name: member for member in ledger.members()}
        assert list(members) == ["main", "heuristic", "random", "oracle@1", "oracle@2", "mixed@2", "oracle@3"]
        for name in ("oracle@1", "oracle@2", "oracle@3", "mixed@2"):
            oracle = members[name]
            assert oracle.role == ("sampled_oracle" if name == "mixed@2" else "oracle")
            assert (oracle.parent, oracle.live, oracle.spec) == ("main", False, None)
            assert oracle.blob == ledger.states(oracle.born - 1)["main"].blob


def test_newest_oracles_practice_with_their_shares(finished):
    with Ledger(finished / "ledger.sqlite") as ledger:
        practiced = [
            {opponent: chance for _, kind, _, opponent, chance, *_ in ledger.meetings(number) if kind == "train"}
            for number in range(ROUNDS)
        ]
    assert practiced[0] == pytest.approx({"heuristic": 0.5, "random": 0.5})
    fixed = {"heuristic": 0.375, "random": 0.375}
    assert practiced[1] == pytest.approx({**fixed, "oracle@1": 0.25})
    # Two oracles have an eighth each; of the first the newest of two has 0.8.
    assert practiced[2] == pytest.approx({**fixed, "oracle@2": 0.1, "oracle@1": 0.025, "mixed@2": 0.125})
    assert practiced[3] == pytest.approx({**fixed, "oracle@3": 0.1, "oracle@2": 0.025, "mixed@2": 0.125})


def test_newest_oracle_plays_its_learner(finished):
    with Ledger(finished / "ledger.sqlite") as ledger:
        for number, newest in enumerate([(), ("oracle@1",), ("oracle@2", "mixed@2"), ("oracle@3", "mixed@2")]):
            legs = {leg.seats for leg in ledger.legs(number)}
            oracles = {seats for seats in legs if any("@" in name for name in seats)}
            assert oracles == {pair for name in newest for pair in (("main", name), (name, "main"))}


def test_oracle_gets_the_value_of_the_best_response(finished):
    """Over the whole legal space against likeliest acts there is no chance left: to the last digit, in both seats."""
    place, space, rules = finished / "blobs", lewis_space(), Rules(3)
    with Ledger(finished / "ledger.sqlite") as ledger:
        oracle = next(member for member in ledger.members() if member.name == "oracle@2")
    response = SEATING.partner(Entrant(oracle, oracle.blob), place)
    target = SEATING.partner(Entrant(Member("main", None, "main"), oracle.blob), place, greedy=True)
    for seat in (0, 1):
        pair = (response, target) if seat == 0 else (target, response)
        games = rollout(pair, space, rules, seed=0)
        value = response_value(target, open_source("lewis", split="train"), rules, seat)
        assert points_of_ten(games.scores, space.pool_values)[:, seat].mean() == pytest.approx(value.low, abs=1e-9)
        assert value.exact


@pytest.mark.slow
def test_kills_and_workers_change_nothing(tmp_path, finished):
    for name in ("whole", "killed", "workers"):
        write_settings(tmp_path, name)
    killed_and_resumed(tmp_path / "whole.yaml", tmp_path / "killed.yaml", tmp_path / "killed" / "0001", 1, ROUNDS)
    assert run("--config", tmp_path / "workers.yaml", "--workers", "2").returncode == 0
    for name in ("whole", "killed", "workers"):
        assert fingerprint(tmp_path / name / "0001") == fingerprint(finished)


def test_lost_weights_of_an_oracle_are_made_again(finished, tmp_path):
    folder = tmp_path / "0001"
    shutil.copytree(finished, folder)
    with Ledger(folder / "ledger.sqlite") as ledger:
        blob = next(member.blob for member in ledger.members() if member.name == "oracle@1")
    (folder / "blobs" / f"{blob}.safetensors").unlink()
    assert run("--resume", folder).returncode == 0
    assert fingerprint(folder) == fingerprint(finished) and (folder / "blobs" / f"{blob}.safetensors").exists()


def test_oracle_is_no_checkpoint_and_no_exploiter(finished):
    with pytest.raises(InputError, match="oracle@2"):
        read_member(finished, "oracle@2")


def test_all_past_oracles_practice_with_kept_0(finished):
    assert shares_of_newest(0.6, 3) == pytest.approx([0.6, 0.2, 0.2]) and shares_of_newest(0.6, 1) == [1.0]
    config = parse(SETTINGS.replace("kept: 2, newest: 0.8", "kept: 0, newest: null"))
    with Ledger(finished / "ledger.sqlite") as ledger:
        history, states = history_of(ledger, config), ledger.states()
    seats = {m.name: Entrant(m, states[m.name].blob if m.live else m.blob) for m in history.members}
    meetings = {each.opponent.name: each for each in meetings_of(config, config.learners[0], history, seats)}
    assert [meetings[f"oracle@{born}"].probability for born in (1, 2, 3)] == pytest.approx([0.125 / 3] * 3)


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        (("of: main, kept", "of: mian, kept"), "oracles[0].of"),
        (("hidden: [8]", "hidden: [8], history: flat"), "oracles[0].of"),
        (("oracles: [{of: main, kept: 2, newest: 0.8}, {name: mixed, of: main, every: 2, play: sampled}]", ""),
         "learners[0].matchmaking"),
        (("scenarios: lewis, split: train", "scenarios: uniform"), "env.scenarios"),
        (("max_turns: 3", "max_turns: 3, reveal_partner_utilities: true"), "env.reveal_partner_utilities"),
        (("max_turns: 3", "max_turns: 3, disagree: rejects"), "env.disagree"),
        (("logging", "stages: [{name: a, rounds: 1, env: {scenarios: uniform}}, {name: b}]\nlogging"),
         "stages[0].env.scenarios"),
    ],
)  # fmt: skip
def test_mistakes_in_oracles_are_refused(changed, place):
    assert changed[0] in SETTINGS
    with pytest.raises(ConfigError) as caught:
        parse(SETTINGS.replace(*changed))
    assert any(text.startswith(place) for _, text in caught.value.complaints)


def test_dry_run_counts_oracles():
    assert estimate(parse(SETTINGS))[0].oracles == 3 + 1
