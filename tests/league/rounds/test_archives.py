"""Archives of generated programs: scores, settings, the ledger's rows, and the same selections in every run."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from dond_marl.game import Act
from dond_marl.occupants import seat_occupant
from dond_marl.seats import Decisions, Traits, Turns, constant, decide
from league.ledger.ledger import Ledger, LedgerError
from league.rounds.archives import elites, learnability, programs_of, scored_games, scores_of, traits_of
from league.rounds.dry_run import estimate
from league.settings.learners import ArchiveConfig
from league.settings.read import ConfigError, dump, parse
from league.settings.sections import EnvConfig
from partners.scripted.generated import PROGRAMS, Generated, digest_of
from tests.killing import killed_and_resumed, run

ROUNDS = 4
ARCHIVES = """archives:
  - {of: main, by: regret, size: 3, candidates: 5, every: 1, scenarios: 4}
  - {name: known, of: main, by: learnability, size: 4, candidates: 4, every: 2, scenarios: 4}
  - {name: still, of: main, by: uniform, size: 4, every: 1}
"""
SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 3}
league: {seed: 3, rounds: 4, block_size: 4, evaluate: false, floor: 1.0e-9, pairs: 0}
members: [heuristic, generated]
learners:
  - {name: main, hidden: [8], rollout: 2, num_envs: 32, minibatch: 64, epochs: 1, decisions: 100, snapshot_every: 0,
     matchmaking: {uniform among fixed: 0.5, uniform among generated: 0.25, archives: 0.25}}
""" + ARCHIVES + """
logging: {output_dir: "FOLDER"}
"""  # fmt: skip
GIVES_IN = 2815188004288440  # its last answer accepts any offer; it has no memory and never errs


class Claims:
    """Claims the whole pool on every turn; ``agrees``: accepts every offer instead, once there is one."""

    traits = Traits(deterministic=True, memoryless=True)

    def __init__(self, agrees: bool) -> None:
        self.agrees = agrees

    def act(self, turns: Turns) -> Decisions:
        act = constant(Act.PROPOSE, np.int8, turns.size)
        if self.agrees:
            act = np.where(turns.act_mask[:, Act.AGREE], np.int8(Act.AGREE), act)
        return decide(act, np.where((act == Act.PROPOSE)[:, None], turns.counts, np.int8(0)))


def write_settings(folder: Path, name: str = "runs") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(SETTINGS.replace("FOLDER", str(folder / name)))
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """The folder of a finished run, played at one go."""
    folder = tmp_path_factory.mktemp("archives")
    done = run("--config", write_settings(folder))
    assert done.returncode == 0, done.stderr
    return folder / "runs" / "0001"


def fingerprint(run_folder: Path) -> str:
    with Ledger(run_folder / "ledger.sqlite") as ledger:
        return ledger.fingerprint()


def test_regret_is_what_the_best_response_gets_beyond_the_learner():
    archive, env = ArchiveConfig(of="main", by="regret", scenarios=6), EnvConfig(scenarios="lewis", split="train")
    asks, agrees = (scores_of(archive, [GIVES_IN], Claims(each), env, 1)[0] for each in (False, True))
    assert asks == pytest.approx(0.0, abs=1e-9)
    assert agrees > 1


def test_learnability_is_highest_for_programs_that_the_learner_beats_half_of_the_time():
    always, half, never = [8.0, 8.0], [8.0, 2.0], [2.0, 2.0]
    points = np.array([[always, always], [half, half[::-1]], [never, never]])
    assert learnability(points).tolist() == [0.0, 0.25, 0.0]


def test_novelty_keeps_the_best_program_of_each_cell():
    programs = np.random.default_rng(0).integers(PROGRAMS, size=200).tolist()
    quality = np.random.default_rng(1).random(200)
    scores = elites(programs, quality, 27)
    cells = [tuple(cell) for cell in np.minimum(traits_of(programs) * 3, 2).astype(int)]
    best = {cell: max(q for other, q in zip(cells, quality, strict=True) if other == cell) for cell in cells}
    assert sorted(scores[np.isfinite(scores)]) == sorted(best.values())
    assert 10 < len(best) <= 27
    assert np.isfinite(elites(programs, quality, 1)).sum() == 1


def test_selections_join_the_league_and_practice_with_their_share(finished):
    with Ledger(finished / "ledger.sqlite") as ledger:
        members = {member.name: member for member in ledger.members() if member.role == "archive"}
        practiced = [
            {opponent: chance for _, kind, _, opponent, chance, *_ in ledger.meetings(number) if kind == "train"}
            for number in range(ROUNDS)
        ]
    assert {"archive@1", "still@1", "known@2"} <= set(members)
    assert [name for name in members if name.startswith("still")] == ["still@1"]  # drawn once
    assert practiced[0] == pytest.approx({"heuristic": 1 / 3, "generated": 2 / 3})
    assert practiced[1] == pytest.approx({"heuristic": 0.25, "generated": 0.5, "archive@1": 0.125, "still@1": 0.125})
    assert sum(chance for name, chance in practiced[3].items() if "@" in name) == pytest.approx(0.25)
    for name, member in members.items():
        programs = programs_of(member)
        assert len(programs) == (3 if name.startswith("archive") else 4) and not member.live
        assert seat_occupant(member.spec) == Generated(one_of=programs, digest=digest_of(*programs))
        if name.startswith("archive"):  # only such programs have an exact regret
            assert all(Generated(each).traits == Traits(deterministic=True, memoryless=True) for each in programs)


def test_decisions_name_every_program_in_and_out(finished):
    """The programs of the newest selection are those that entered and did not leave, each with its digest."""
    with Ledger(finished / "ledger.sqlite") as ledger:
        members, inside = ledger.members(), {"archive": set(), "known": set(), "still": set()}
        for number in range(ROUNDS):
            for kind, subject, enters, reason in ledger.decisions(number):
                assert kind == "archive"
                program, name = int(subject.removeprefix("program ")), reason.split()[1].rstrip(":")
                assert reason.endswith(digest_of(program))
                assert (program in inside[name]) != enters
                (inside[name].add if enters else inside[name].remove)(program)
    newest = {member.name.partition("@")[0]: member for member in members if member.role == "archive"}
    assert {name: set(programs_of(member)) for name, member in newest.items()} == inside


def test_kills_and_workers_change_nothing(tmp_path, finished):
    for name in ("whole", "killed", "workers"):
        write_settings(tmp_path, name)
    killed_and_resumed(tmp_path / "whole.yaml", tmp_path / "killed.yaml", tmp_path / "killed" / "0001", 1, ROUNDS)
    assert run("--config", tmp_path / "workers.yaml", "--workers", "2").returncode == 0
    for name in ("whole", "killed", "workers"):
        assert fingerprint(tmp_path / name / "0001") == fingerprint(finished)


def test_member_that_joined_can_only_be_programs(tmp_path, finished):
    """The signature of a run covers the specs of its first members; another spec may not come in later."""
    path = Path(shutil.copy(finished / "ledger.sqlite", tmp_path))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE members SET spec = 'linear' WHERE member = 'archive@1'")
    with Ledger(path) as ledger, pytest.raises(LedgerError):
        ledger.members()


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        (("of: main, by: regret", "of: mian, by: regret"), "archives[0].of"),
        (("by: learnability", "by: surprise"), "archives[1].by"),
        (("name: known", "name: archive"), "archives[1]"),
        ((ARCHIVES, ""), "learners[0].matchmaking"),
        (("archives: 0.25", "archives: 0.26"), "learners[0].matchmaking"),
        (("generated: 0.25", "fixed: 0.25"), "learners[0].matchmaking"),
        (("[heuristic, generated]", "[heuristic]"), "learners[0].matchmaking"),
        (("[heuristic, generated]", "[heuristic, generated, generated(program=5)]"), "learners[0].matchmaking"),
        (("logging", "stages: [{name: a, learners: {main: {matchmaking: archives}}}]\nlogging"),
         "learners[0].matchmaking"),
        (("scenarios: lewis, split: train", "scenarios: uniform"), "env.scenarios"),
        (("max_turns: 3", "max_turns: 3, reveal_partner_utilities: true"), "env.reveal_partner_utilities"),
    ],
)  # fmt: skip
def test_mistakes_in_archives_are_refused(changed, place):
    assert changed[0] in SETTINGS
    with pytest.raises(ConfigError) as caught:
        parse(SETTINGS.replace(*changed))
    assert any(text.startswith(place) for _, text in caught.value.complaints)


def test_settings_of_leagues_without_archives_do_not_change():
    config = parse(SETTINGS)
    assert parse(dump(config)) == config
    assert "archives" not in dump(parse(SETTINGS.replace(ARCHIVES, "").replace(", archives: 0.25", "")))


def test_dry_run_counts_the_games_of_scores():
    config = parse(SETTINGS)
    # After rounds 1 to 3, eight programs; after round 2, eight; two seats and four scenarios.
    assert scored_games(config) == 3 * 8 * 2 * 4 + 8 * 2 * 4
    without = parse(SETTINGS.replace(ARCHIVES, "").replace(", archives: 0.25", ""))
    matches = 3 * (ROUNDS + 1) * 2 * 4  # the newest selections against the learner
    assert estimate(config)[0].games - estimate(without)[0].games == scored_games(config) + matches
