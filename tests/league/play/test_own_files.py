"""Code in a file, without packaging: partners, hinters and rewards by ``my_file.py:Name``, pinned by a run."""

from __future__ import annotations

import pickle

import pytest

from dond.web.occupants import OccupantMenu
from dond_marl.errors import UntrustedError
from dond_marl.occupants import ANYTHING, OccupantNameError, parse_spec, pin_spec, seat_occupant, unpin_spec
from league.ledger.ledger import ReadLedger
from partners.learning.rewards import RewardError, reward_name, reward_of
from tests.command import in_process
from tests.league.play.test_league import contents

MINE = """
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
import numpy as np
from dond_marl.game import Act
from dond_marl.seats import Traits, decide, worth

@dataclass(frozen=True)
class Melting:
    share: float = 0.5
    traits: ClassVar[Traits] = Traits(deterministic=True, memoryless=True)

    def act(self, turns):
        offered = worth(turns.my_utilities, turns.last_partner_offer_for_me)
        agree = (offered >= self.share * worth(turns.my_utilities, turns.counts)) & turns.act_mask[:, Act.AGREE]
        return decide(np.where(agree, Act.AGREE, Act.PROPOSE), turns.counts)

@dataclass(frozen=True)
class FairBonus:
    weight: float = 0.5

    def __call__(self, games, earned, scenarios):
        return earned - self.weight * np.abs(earned - earned[:, ::-1])

class Unready:
    def __init__(self):
        raise KeyError("a table that is not there")

class Broken:
    def __call__(self, games, earned, scenarios):
        return earned * (1 if Path("mended").exists() else float("nan"))

def nobody():
    return 3
"""
LEAGUE = """
env: {scenarios: lewis, split: train, max_turns: 2}
league: {seed: 3, rounds: 2, block_size: 8, evaluate: false}
members: [heuristic, "my_file.py:Melting", {kind: "my_file.py:Melting", share: 0.3, name: greedy}]
learners:
  - {name: main, hidden: [8], rollout: 2, num_envs: 16, minibatch: 64, epochs: 1, decisions: 40,
     reward: "my_file.py:FairBonus(weight=0.2)"}
stages:
  - {name: advised, hints: {mode: expert, expert: "my_file.py:Melting"}, rounds: 1}
  - {name: alone}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "my_file.py").write_text(MINE)
    (tmp_path / "league.yaml").write_text(LEAGUE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_spec_names_a_class_in_a_file_and_is_written_in_one_way():
    for spec in ("my_file.py:Melting(share=0.3)", {"kind": "my_file.py:Melting", "share": 0.3}):
        assert parse_spec(spec).text == "my_file.py:Melting(share=0.3)"
    shipped = parse_spec("expert(kind=supervised)")
    assert pin_spec(shipped) == unpin_spec(shipped) == shipped
    spec = parse_spec("../a b/my_file.py:Melting")
    assert (spec.kind, spec.parameters) == ("../a b/my_file.py:Melting", {})


def test_it_sits_wherever_a_partner_sits_and_travels_to_other_processes(here):
    one = seat_occupant("my_file.py:Melting(share=0.3)")
    assert one.share == 0.3 and pickle.loads(pickle.dumps(one)) == one
    inside = seat_occupant("trembling(of='my_file.py:Melting')")
    assert inside.traits
    for words in (
        ("evaluate", "--member", "my_file.py:Melting", "--against", "heuristic", "--sample", 4, "--max-turns", 2),
        ("bench", "my_file.py:Melting", "--against", "boulware", "--sample", 4, "--results", "x.jsonl"),
    ):
        done = in_process(*words)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("none.py:Melting", "No such file"),
        ("my_file.py:Frozen", "holds no class or function Frozen"),
        ("my_file.py:nobody", "is no partner: int"),
        ("my_file.py:Melting(rate=2)", "does not take 'rate'; it takes share"),
        ("wrong.py:Melting", "cannot be run: ZeroDivisionError"),
        ("lacking.py:Melting", "cannot be run: ModuleNotFoundError"),
    ],
)
def test_a_mistake_is_reported_in_a_sentence(here, spec, said):
    (here / "wrong.py").write_text("1 / 0")
    (here / "lacking.py").write_text("import no_such_library")
    with pytest.raises(OccupantNameError, match=said):
        seat_occupant(spec)
    assert in_process("play", "--partner", spec).returncode == 2


def test_league_with_a_broken_reward_goes_on_from_its_committed_rounds(here):
    words = ("--config", "league.yaml", "--quiet", "--set", "logging.output_dir=runs")
    second = '{name: alone, learners: {main: {reward: "my_file.py:Broken"}}}'
    (here / "league.yaml").write_text(LEAGUE.replace("{name: alone}", second))
    done = in_process("league", *words)
    assert done.returncode == 1 and "main" in done.stderr and "Broken" in done.stderr
    with ReadLedger(here / "runs" / "0001" / "ledger.sqlite") as ledger:
        assert ledger.next_round == 1
    (here / "mended").touch()
    done = in_process("league", "--resume", "runs/0001", "--quiet", "--trust")
    assert done.returncode == 0, done.stderr


def test_who_is_pinned_is_refused_once_the_file_has_changed(here):
    spec = pin_spec(parse_spec("trembling(of='my_file.py:Melting')"))
    own = pin_spec(parse_spec("my_file.py:Melting"))
    assert spec.count("sha256=") == own.count("sha256=") == 1 and unpin_spec(parse_spec(own)) == "my_file.py:Melting"
    assert seat_occupant(own) == seat_occupant("my_file.py:Melting") and seat_occupant(spec).traits
    with pytest.raises(RewardError, match=r"my_file.py:Unready cannot be made: KeyError"):
        reward_of(reward_name("my_file.py:Unready"))
    reward = reward_name("my_file.py:FairBonus(weight=0.2)")
    assert reward_of(reward).weight == 0.2
    (here / "my_file.py").write_text(MINE + "# another\n")
    for name in (own, spec):
        with pytest.raises(OccupantNameError, match="has changed since Melting was taken from it"):
            seat_occupant(name)
    with pytest.raises(RewardError, match="bring the former file back"):
        reward_of(reward)
    assert seat_occupant("my_file.py:Melting")


@pytest.mark.slow
def test_a_league_with_a_file_is_the_same_with_workers_and_goes_on_with_the_same_file_alone(here):
    for workers in (1, 2):
        done = in_process("league", "--config", "league.yaml", "--workers", workers, "--quiet")
        assert done.returncode == 0, done.stderr
    alone, two = (contents(folder) for folder in sorted((here / "runs" / "league").iterdir()))
    assert alone == two and "my_file.py:Melting" in done.stdout
    with ReadLedger(here / "runs" / "league" / "0002" / "ledger.sqlite") as ledger:
        assert [ledger.stage(number) for number in range(ledger.next_round)] == [0, 1, 1]
    (here / "my_file.py").write_text(MINE + "# another\n")
    done = in_process("league", "--resume", "runs/league/0001", "--trust")
    assert done.returncode == 2 and "file" in done.stderr
    (here / "my_file.py").write_text(MINE)
    assert in_process("league", "--resume", "runs/league/0001", "--quiet", "--trust").returncode == 0


def test_the_web_page_runs_no_file_unless_it_was_started_so(here):
    (here / "trap.py").write_text("from pathlib import Path; Path('sprung').touch()\ndef Melting(): ...\n")
    spelled = ("trap.py:Melting", "mixture(of=['trap.py:Melting'])", "trembling(of='trap.py:Melting')")
    for spec in (*spelled, r"mixture(of=['trap\x2epy:Melting'])"):
        with pytest.raises(UntrustedError, match="--open-paths"):
            OccupantMenu([]).candidate("", spec)
    assert not (here / "sprung").exists()
    assert OccupantMenu([], ANYTHING).candidate("", "my_file.py:Melting").spec == "my_file.py:Melting"
