"""A league with learners: kills and workers change neither rows nor weights, and snapshots never change."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from league.ledger.ledger import Ledger
from league.ledger.run_directory import RunDirectory
from league.play.blobs import BlobError, name_of, read_blob, write_blob
from league.rounds.planner import plan_round
from league.rounds.runner import run_league
from league.settings.read import load_config
from league.standings.history import history_of
from partners.network.checkpoint import pack
from tests.killing import killed_and_resumed, run
from tests.third_party import install, on_the_path

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 2}
league: {seed: 3, rounds: ROUNDS, block_size: 8, evaluate: false}
members: [heuristic, random, pushover]
learners:
  - {name: main, matchmaking: regret, hidden: [16], rollout: 2, num_envs: 32, minibatch: 64, epochs: 2, lr: 3.0e-3,
     decisions: 100, snapshot_every: 4}
  - {name: other, role: main_exploiter, exploits: main, algo: reinforce, hidden: [16],
     rollout: 2, num_envs: 32, decisions: 100, snapshot_every: 0}
logging: {output_dir: "FOLDER"}
"""


def write_settings(tmp_path: Path, rounds: int, name: str = "runs") -> Path:
    path = tmp_path / f"{name}.yaml"
    path.write_text(SETTINGS.replace("ROUNDS", str(rounds)).replace("FOLDER", str(tmp_path / name)))
    return path


def final(folder: Path) -> tuple[str, dict[str, bytes]]:
    """The ledger's fingerprint and the learners' last weights, verified."""
    with Ledger(folder / "ledger.sqlite") as ledger:
        states = ledger.states()
        for state in states.values():
            read_blob(folder / "blobs", state.blob)
        return ledger.fingerprint(), {
            n: (folder / "blobs" / f"{s.blob}.safetensors").read_bytes() for n, s in states.items()
        }


@pytest.mark.slow
def test_kills_change_nothing_with_learners(tmp_path):
    config = {name: write_settings(tmp_path, 80, name) for name in ("whole", "killed")}
    folder, whole = tmp_path / "killed" / "0001", tmp_path / "whole" / "0001"
    killed_and_resumed(config["whole"], config["killed"], folder, 20, 80)
    assert final(folder) == final(whole)
    for table in ("ladder.csv", "crossplay.csv", "config.yaml"):
        assert (folder / table).read_text().replace("/killed", "/whole") == (whole / table).read_text()


@pytest.fixture(scope="module")
def six_rounds(tmp_path_factory) -> tuple[str, Path]:
    """The output of a league of six rounds, and the folder of its run."""
    folder = tmp_path_factory.mktemp("six_rounds")
    done = run("--config", write_settings(folder, 6))
    assert done.returncode == 0, done.stderr
    return done.stdout, folder / "runs" / "0001"


def test_six_rounds_with_snapshots_and_decisions(six_rounds):
    output, folder = six_rounds
    assert "main@4" in output
    assert (folder / "learning.csv").read_text().count("\n") == 1 + 2 * 7  # six rounds of practice, and after the last
    with Ledger(folder / "ledger.sqlite") as ledger:
        members = {member.name: member for member in ledger.members()}
        assert list(members) == ["main", "other", "heuristic", "random", "pushover", "main@4"]
        snapshot = members["main@4"]
        assert (snapshot.role, snapshot.parent, snapshot.born) == ("snapshot", "main", 4)
        assert snapshot.blob == ledger.states(3)["main"].blob != ledger.states()["main"].blob
        assert ledger.states()["main"].decisions >= 6 * 100
        # A snapshot plays from the round it is born for, with the weights that it was born with.
        seats = [{name for leg in ledger.legs(number) for name in leg.seats} for number in range(7)]
        assert "main@4" not in seats[3] and "main@4" in seats[4]
        rows = list(
            ledger._rows(
                "SELECT round, member, sum(probability), count(*) FROM meetings JOIN tasks USING (round, task)"
                " WHERE kind = 'train' GROUP BY round, member"
            )
        )
        assert len(rows) == 12 and all(abs(total - 1) < 1e-9 for _, _, total, _ in rows)
        assert {(number, name): count for number, name, _, count in rows}[
            4, "main"
        ] == 5  # all others, the snapshot too


def test_blob_names_detect_damage(tmp_path):
    tensors = {"b": torch.arange(6.0).reshape(2, 3), "a": torch.tensor(3)}
    content = pack(tensors)
    assert content == pack(dict(reversed(tensors.items())))
    name = write_blob(tmp_path, content)
    assert write_blob(tmp_path, content) == name == name_of(content)
    assert all(torch.equal(tensors[key], value) for key, value in read_blob(tmp_path, name).tensors.items())
    path, rng = tmp_path / f"{name}.safetensors", np.random.default_rng(0)
    for place in rng.integers(0, len(content), size=20):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(BlobError, match="damaged"):
            read_blob(tmp_path, name)


@pytest.mark.slow
def test_default_league_main_improves_against_the_heuristic(tmp_path):
    config = ROOT / "configs" / "league.yaml"
    done = run("--config", config, "--set", f"logging.output_dir={tmp_path}", "--set", "league.rounds=8")
    assert done.returncode == 0, done.stderr
    rows = [line.split(",") for line in (tmp_path / "0001" / "learning.csv").read_text().splitlines()[1:]]
    main = [float(row[4]) for row in rows if row[1] == "main"]
    assert main[-1] > main[0] + 3


LITERATURE = """
env: {scenarios: lewis, split: train, max_turns: 2}
league: {seed: 3, rounds: 5, block_size: 4, pairs: 4, evaluate: false, meta_solver: max_gini}
members: [heuristic, random]
training: {hidden: [16], rollout: 2, num_envs: 32, minibatch: 64, epochs: 1, lr: 3.0e-3}
learners:
  - {name: oracle, decisions: 100, snapshot_every: 2, reset: 1.0, matchmaking: meta_mixture}
  - {name: average, decisions: 100, snapshot_every: 3, keeps_first: true, reservoir: 150, matchmaking: self_play}
  - {name: pulled, decisions: 100, snapshot_every: 0, kl: 0.1, magnet: 0.2, matchmaking: skill_levels}
logging: {output_dir: "FOLDER", tensorboard: false}
"""


class StopsAfter:
    """Watches a league and stops it, as a person would, once so many rounds are committed."""

    def __init__(self, rounds: float) -> None:
        self.left, self.messages = rounds, ""

    def on_open(self, *_: object) -> None: ...
    def on_analysis(self, _: str) -> None: ...
    def on_step(self, _: str) -> None: ...
    def tick(self) -> None: ...
    def on_match(self, *_: object) -> None: ...
    def on_practice(self, *_: object) -> None: ...

    def warn(self, messages: str) -> None:
        self.messages += messages

    def on_commit(self, *_: object) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_mixtures_reservoirs_and_magnets_survive_stops(tmp_path):
    (tmp_path / "league.yaml").write_text(LITERATURE.replace("FOLDER", str(tmp_path)))
    config, ends = load_config(tmp_path / "league.yaml"), []
    for name, stops in (("whole", ()), ("stopped", (2, 1))):  # between an oracle's waiting and practice, too
        folder = RunDirectory(tmp_path / name)
        for rounds in stops:
            with pytest.raises(KeyboardInterrupt):
                run_league(config, folder, StopsAfter(rounds))
        run_league(config, folder, StopsAfter(math.inf))
        ends.append(final(tmp_path / name))
    assert ends[0] == ends[1]
    with Ledger(tmp_path / "whole" / "ledger.sqlite") as ledger:
        waited = [number for number in range(5) if not any(row[2] == "oracle" for row in trained(ledger, number))]
        assert waited == [2, 4]
        opponents = {row[3] for row in trained(ledger, 3) if row[2] == "oracle"}
        assert opponents == {"heuristic", "random", "oracle@2", "average@0", "average", "pulled"}


def test_lost_reservoir_is_rebuilt(tmp_path):
    alone = re.sub(r"  - {name: (oracle|pulled).*\n", "", LITERATURE)
    (tmp_path / "league.yaml").write_text(alone.replace("FOLDER", str(tmp_path)))
    config, stopped = load_config(tmp_path / "league.yaml"), RunDirectory(tmp_path / "stopped")
    run_league(config, RunDirectory(tmp_path / "whole"), StopsAfter(math.inf))
    with pytest.raises(KeyboardInterrupt):
        run_league(config, stopped, StopsAfter(3))
    (newest,) = reservoirs(stopped.blobs)
    with Ledger(stopped.ledger) as ledger:
        plan = plan_round(config, history_of(ledger, config), ledger.states(), stopped.blobs)
    assert [newest.stem in task.blobs for task in plan.training] == [True], "it travels to where they practice"
    newest.unlink()
    watcher = StopsAfter(math.inf)
    run_league(config, stopped, watcher)
    assert "missing" in watcher.messages and "round 1 to round 3" in watcher.messages
    assert final(stopped.path) == final(tmp_path / "whole") and len(reservoirs(stopped.blobs)) == 1


def reservoirs(blobs: Path) -> list[Path]:
    return [path for path in blobs.iterdir() if "reservoir.act" in read_blob(blobs, path.stem).tensors]


def trained(ledger: Ledger, number: int) -> list[tuple]:
    return [row for row in ledger.meetings(number) if row[1] == "train"]


RARE = """
from dond_marl.seats import Traits, decide
import numpy as np

class Rare:
    traits = Traits(deterministic=True)
    def __init__(self, worth=10):
        self.worth = worth
    def act(self, turns):
        if (turns.my_utilities[:, 0] >= self.worth).any():
            raise ZeroDivisionError("a rare bug")
        return decide(np.zeros(turns.size), turns.counts)
"""
FAULTY = """
env: {scenarios: lewis, split: train, max_turns: 4}
league: {seed: 3, rounds: 2, block_size: 2, evaluate: false}
members: [MEMBERS]
learners:
  - {name: main, matchmaking: regret, hidden: [16], rollout: 2, num_envs: 32, minibatch: 64, epochs: 2, decisions: 100}
logging: {output_dir: "FOLDER"}
"""


@pytest.fixture
def faulty_league(tmp_path, monkeypatch):
    """A function that runs a league with these members in a folder of this name: exit code and run folder."""
    site = install(tmp_path / "site", "rare_partner", RARE, "rare = rare_partner:Rare")

    def play(name: str, members: str) -> tuple[int, Path]:
        config = tmp_path / f"{name}.yaml"
        config.write_text(FAULTY.replace("MEMBERS", members).replace("FOLDER", str(tmp_path / name)))
        done = run("--config", config)
        assert "Traceback" not in done.stderr
        return done.returncode, tmp_path / name / "0001"

    with on_the_path(site, monkeypatch):
        yield play


def test_raising_member_does_not_stop_practice(faulty_league):
    code, folder = faulty_league("one", "heuristic, pushover, rare(worth=5)")
    assert code == 0
    with Ledger(folder / "ledger.sqlite") as ledger:
        assert all(ledger.states(number)["main"].decisions >= 100 * (number + 1) for number in (0, 1))
        named = [member for _, member, _ in ledger.failures()]
        assert set(named) == {"rare(worth=5)"} and len(named) > len(ledger.at_fault(0)) + len(ledger.at_fault(1))
        assert ledger.rounds_without_practice() == {}


def test_a_league_whose_learner_learned_nothing_fails(faulty_league):
    code, folder = faulty_league("lost", "rare(worth=0)")
    assert code == 1
    with Ledger(folder / "ledger.sqlite") as ledger:
        assert ledger.rounds_without_practice() == {"main": 2} and ledger.states()["main"].decisions == 0
