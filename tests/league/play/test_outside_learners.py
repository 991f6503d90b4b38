"""Learners of other libraries in a league: they practice, leave snapshots and resume as the project's own."""

from __future__ import annotations

import pytest

from dond_marl.errors import UntrustedError
from league import evaluate_league, open_league, play_league
from league.ledger.ledger import ReadLedger
from league.settings.read import ConfigError
from tests.command import in_process
from tests.documents.pages import ROOT, blocks

MINE = """
from dond_marl import PolicyPartner

FORMS = {"actions": "discrete", "observations": "box"}


class Counts:
    def __init__(self, seed, game, breaks=False):
        self.state, self.seed, self.breaks = 0, seed, breaks

    def practice(self, games, decisions):
        env, first = games(16, **FORMS), self.state + self.seed % 7
        seen, infos = env.reset()
        while games.decisions < decisions:
            seen, rewards, _, _, infos = env.step(self.act(seen, infos["action_mask"]))
            self.state = int(self.state + first + rewards.sum())
            if self.breaks:
                raise KeyError("a table")

    def act(self, seen, masks):
        return (masks.cumsum(axis=1) > self.state % masks.sum(axis=1)[:, None]).argmax(axis=1)

    def save(self):
        return str(self.state).encode()

    def load(self, content):
        self.state = int(content)

    def partner(self):
        return PolicyPartner(self.act, "discrete")
"""
LEAGUE = {
    "env.scenarios": "lewis", "env.max_turns": 10, "members": ["heuristic", "tough"], "heldout": ["boulware"],
    "league.rounds": 2, "league.block_size": 8, "league.evaluate": "false", "stages": [],
}  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def learner(train: str, **more: object) -> dict[str, object]:
    return {"learners": [{"name": "mine", "train": train, "decisions": 60, "snapshot_every": 1, **more}]}


def facts(folder):
    with ReadLedger(folder / "ledger.sqlite") as ledger:
        return ledger.fingerprint(), ledger.members(), [ledger.states(number) for number in range(ledger.next_round)]


def stopped_and_resumed(settings):
    """A league that stops after its first round and goes on, from the command line."""

    class EnoughError(Exception): ...

    def stop(_figures):
        raise EnoughError

    with pytest.raises(EnoughError):
        play_league("league_quick.yaml", settings, folder="stopped", on_round=stop)
    assert in_process("league", "--resume", "stopped/0001", "--quiet").returncode != 0  # it names code
    done = in_process("league", "--resume", "stopped/0001", "--trust", "--quiet")
    assert done.returncode == 0, done.stderr
    return open_league("stopped/0001").folder


def test_it_learns_leaves_snapshots_and_resumes_to_the_same_ledger(here):
    settings = {**LEAGUE, **learner("mine.py:Counts")}
    played = play_league(
        "league_quick.yaml", {**settings, "backend.kind": "process", "backend.workers": 1}, folder="whole"
    )
    whole, members, states = facts(played.folder)
    assert "mine@1" in [member.name for member in members] and "mine@1" in played.points
    before, after, _ = (state["mine"] for state in states)
    assert before.blob != after.blob and after.updates == 2 and after.decisions >= 120 and after.games > before.games
    assert facts(stopped_and_resumed(settings))[0] == whole
    with pytest.raises(UntrustedError):
        evaluate_league(played.folder, sample=4)
    evaluated = evaluate_league(played.folder, sample=4, trust=True)
    assert "mine" in str(evaluated) and "not recorded" in str(evaluated)
    assert in_process("evaluate", "--member", f"{played.folder}:mine", "--trust").returncode == 2


def test_an_error_of_its_code_is_reported_and_leaves_it_as_it_was(here, capsys):
    played = play_league("league_quick.yaml", {**LEAGUE, **learner("mine.py:Counts(breaks=true)")})
    assert "the practice of mine failed: KeyError: 'a table'" in capsys.readouterr().err
    assert {state["mine"].updates for state in facts(played.folder)[2]} == {0}


@pytest.mark.parametrize(
    "settings",
    [
        learner("heuristic"),
        learner("absent.py:Counts"),
        learner("mine.py:Counts", lr=0.1),
        {**learner("mine.py:Counts"), "oracles": [{"of": "mine"}]},
        {
            **learner("mine.py:Counts"),
            "stages": [{"name": "short", "rounds": 1, "env": {"max_turns": 3}}, {"name": "l"}],
        },
    ],
)
def test_what_it_cannot_be_is_refused(here, settings):
    with pytest.raises(ConfigError):
        play_league("league_quick.yaml", {**LEAGUE, **settings})


def test_a_dry_run_runs_nothing_of_it(here):
    (here / "mine.py").write_text("raise SystemExit('run')")
    with pytest.raises(UntrustedError):
        play_league("league_quick.yaml", {**LEAGUE, **learner("mine.py:Counts")}, dry_run=True)


@pytest.mark.slow
def test_the_pages_learner_of_stable_baselines(here):
    pytest.importorskip("sb3_contrib", reason="pip install -e '.[examples]' brings sb3-contrib")
    (block,) = (block for block in blocks(ROOT / "docs" / "LEAGUE.md", "python") if "Sb3Learner" in block)
    (here / "mine.py").write_text(block)
    settings = {**LEAGUE, **learner("mine.py:Sb3Learner(n_envs=16)", decisions=600)}
    whole = facts(play_league("league_quick.yaml", settings, folder="whole").folder)
    assert "mine@1" in [member.name for member in whole[1]]
    assert [state["mine"].decisions >= 600 for state in whole[2]] == [True] * 3
    assert facts(stopped_and_resumed(settings))[0] == whole[0]
