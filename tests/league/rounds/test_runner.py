"""League runs from the command line: kills, stops, resumes, errors, determinism."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from league.ledger.ledger import Ledger
from league.ledger.run_directory import RunDirectory
from tests.killing import command, killed_and_resumed, run
from tests.third_party import install

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "league.py"
SETTINGS = """
env: {scenarios: lewis, split: train}
league: {seed: 3, rounds: ROUNDS, block_size: 64, evaluate: false}
members: [heuristic, random, "boulware(exponent=2)", {kind: tough, name: my rival}, stubborn, nice_tit_for_tat]
logging: {output_dir: "FOLDER"}
"""


def write_settings(tmp_path: Path, rounds: int, name: str = "runs") -> Path:
    path = tmp_path / f"{name}.yaml"
    path.write_text(SETTINGS.replace("ROUNDS", str(rounds)).replace("FOLDER", str(tmp_path / name)))
    return path


def fingerprint(run_folder: Path) -> str:
    with Ledger(run_folder / "ledger.sqlite") as ledger:
        return ledger.fingerprint()


def killed_to_the_same_ledger(tmp_path: Path, kills: int, rounds: int) -> None:
    config = {name: write_settings(tmp_path, rounds, name) for name in ("whole", "killed")}
    folder = tmp_path / "killed" / "0001"
    killed_and_resumed(config["whole"], config["killed"], folder, kills, rounds)
    assert fingerprint(folder) == fingerprint(tmp_path / "whole" / "0001")
    for table in ("ladder.csv", "crossplay.csv", "config.yaml"):
        text = (folder / table).read_text()
        assert text.replace("/killed", "/whole") == (tmp_path / "whole" / "0001" / table).read_text()


@pytest.mark.slow  # test_learning.py kills a league with learners, and below each moment has its own kill
def test_two_kills_change_nothing(tmp_path):
    killed_to_the_same_ledger(tmp_path, kills=2, rounds=20)


@pytest.mark.slow
def test_twenty_kills_change_nothing(tmp_path):
    killed_to_the_same_ledger(tmp_path, kills=20, rounds=150)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> str:
    """The fingerprint of three rounds played at one go."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert run("--config", write_settings(folder, 3)).returncode == 0
    return fingerprint(folder / "runs" / "0001")


@pytest.mark.parametrize(
    "moment",
    [
        "mid round",
        *(pytest.param(at, marks=pytest.mark.slow) for at in ("first match", "after the last match", "after a commit")),
    ],
)
def test_kill_at_each_step_loses_one_round(tmp_path, moment, uninterrupted):
    config = write_settings(tmp_path, 3, "killed")
    script = tmp_path / "kill.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, signal, sys
            sys.path.insert(0, sys.argv[1])
            from pathlib import Path
            from league.settings.read import load_config
            from league.ledger.run_directory import new_run
            from league.rounds.runner import run_league

            class Killer:
                def on_open(self, *_): pass
                def tick(self): pass
                def on_analysis(self, *_): pass
                def warn(self, *_): pass
                def on_match(self, progress, result):
                    at = {"first match": (0, 1), "mid round": (1, 9), "after the last match": (2, 21)}.get(sys.argv[3])
                    if (progress.rounds, progress.matches) == at:
                        os.kill(os.getpid(), signal.SIGKILL)
                def on_practice(self, *_): pass
                def on_commit(self, progress, standings):
                    if sys.argv[3] == "after a commit" and progress.rounds == 2:
                        os.kill(os.getpid(), signal.SIGKILL)

            config = load_config(sys.argv[2])
            run_league(config, new_run(Path(config.logging.output_dir)), Killer())
            """
        )
    )
    done = subprocess.run([sys.executable, str(script), str(ROOT), str(config), moment], check=False)
    assert done.returncode == -signal.SIGKILL
    folder = tmp_path / "killed" / "0001"
    with Ledger(folder / "ledger.sqlite") as ledger:
        assert ledger.next_round == {"first match": 0, "mid round": 1}.get(moment, 2)
    assert run("--resume", folder).returncode == 0
    assert fingerprint(folder) == uninterrupted


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_interrupt_and_resume(tmp_path, number):
    config = write_settings(tmp_path, 5000)
    process = subprocess.Popen(command("--config", config), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("starting: 6 members and 0 learners, 5000 rounds")
    assert any(line.startswith("round 1/5000") for line in process.stdout)
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == 128 + number
    assert f"--resume {tmp_path / 'runs' / '0001'}" in errors and "Traceback" not in errors
    with Ledger(tmp_path / "runs" / "0001" / "ledger.sqlite") as ledger:
        assert ledger.next_round >= 1
    assert (tmp_path / "runs" / "0001" / "ladder.csv").is_file()  # of the rounds committed so far


def test_interrupt_during_the_evaluation_after_all_rounds(tmp_path):
    learner = "[{name: main, hidden: [8], rollout: 2, num_envs: 32, minibatch: 64, epochs: 1, decisions: 100}]"
    settings = write_settings(tmp_path, 1)
    words = (
        "--config",
        settings,
        "--set",
        f"learners={learner}",
        "--set",
        "heldout=[conceder]",
        "--set",
        "members=[tough, nice]",
        "--set",
        "env.max_turns=2",
        "--set",
        "league.evaluate=true",
    )
    with subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any("conceder" in line for line in process.stdout)  # the evaluation has begun
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    folder = tmp_path / "runs" / "0001"
    assert process.returncode == 130 and f"--resume {folder}" in errors and "Traceback" not in errors
    assert not (folder / "evaluation.json").exists()
    assert "held-out" in run("--resume", folder).stdout
    assert (folder / "evaluation.json").is_file()


def test_tables_are_printed_and_written(tmp_path):
    done = run("--config", write_settings(tmp_path, 2))
    assert done.returncode == 0 and not done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith("round ") for line in lines) == 2
    assert any("my rival" in line for line in lines) and any("boulware(exponent=2)" in line for line in lines)
    assert "Intervals are 95%, over" in done.stdout and f"{2 * (15 * 2 + 6) * 64:,} games" in done.stdout
    assert max(len(line) for line in lines if line.lstrip()[:1].isdigit()) <= 160
    written = sorted(path.name for path in (tmp_path / "runs" / "0001").iterdir())
    assert {"config.yaml", "crossplay.csv", "ladder.csv", "ledger.sqlite"} <= set(written)


def test_ledger_is_a_function_of_settings_and_seed(tmp_path):
    config = write_settings(tmp_path, 1)
    for extra in ([], [], ["--set", "league.seed=4"]):
        assert run("--config", config, *extra).returncode == 0
    first, again, other = (fingerprint(tmp_path / "runs" / f"000{number}") for number in (1, 2, 3))
    assert first == again != other


def test_resume_of_a_finished_run(tmp_path):
    config = write_settings(tmp_path, 1)
    first, again = run("--config", config), run("--config", config, "--resume")
    assert again.returncode == 0
    assert again.stdout.split("Ladder", 1)[1] == first.stdout.split("Ladder", 1)[1]


def test_published_scenarios_are_played_evenly(tmp_path, data_dir):
    config = write_settings(tmp_path, 2)
    source = ["--set", "env.use_dataset=true", "--set", "env.dataset=self_play", "--set", f"env.data_dir={data_dir}"]
    done = run("--config", config, *source, "--set", "league.block_size=2043", "--set", "members=[heuristic, tough]")
    assert done.returncode == 0, done.stderr
    assert "from self_play (4,086 scenarios)" in done.stdout
    with Ledger(tmp_path / "runs" / "0001" / "ledger.sqlite") as ledger:
        played = [ledger.scenarios(number).scenario(row) for number in (0, 1) for row in range(2043)]
    assert len(set(played)) == 4086


def test_runs_from_another_directory(tmp_path):
    done = run("--config", write_settings(tmp_path, 1), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_rounds_have_independent_noise(tmp_path):
    config = write_settings(tmp_path, 2)
    block = "league.block_size=3084"  # the whole split, so that both rounds hold the same scenarios
    assert run("--config", config, "--set", block, "--set", "members=[random, tough]").returncode == 0
    with Ledger(tmp_path / "runs" / "0001" / "ledger.sqlite") as ledger:
        outcomes = []
        for number in (0, 1):
            leg = next(leg for leg in ledger.legs(number) if leg.seats == ("random", "random"))
            scenarios = ledger.scenarios(number)
            order = np.lexsort(np.concatenate([scenarios.counts, scenarios.utilities.reshape(-1, 6)], axis=1).T)
            outcomes.append(leg.facts["turns"][order])
    assert (outcomes[0] != outcomes[1]).any()


def test_run_killed_before_its_start(tmp_path):
    config = write_settings(tmp_path, 1)
    assert run("--config", config).returncode == 0
    (tmp_path / "runs" / "0002").mkdir()  # killed between making the folder and beginning the ledger
    newest = run("--config", config, "--resume")
    passed_over = f"{tmp_path / 'runs' / '0002'} is skipped: it never began"
    assert newest.returncode == 0 and passed_over in newest.stdout
    assert f"run folder {tmp_path / 'runs' / '0001'}" in newest.stdout
    Ledger(tmp_path / "runs" / "0002" / "ledger.sqlite").close()  # ... or between opening and beginning it
    assert passed_over in run("--config", config, "--resume").stdout
    assert run("--config", config, "--resume", tmp_path / "runs" / "0002").returncode == 0
    assert fingerprint(tmp_path / "runs" / "0001") == fingerprint(tmp_path / "runs" / "0002")


def test_lost_settings_file_is_rewritten(tmp_path):
    assert run("--config", write_settings(tmp_path, 1)).returncode == 0
    settings = tmp_path / "runs" / "0001" / "config.yaml"
    before = settings.read_text()
    settings.unlink()
    assert run("--resume", tmp_path / "runs").returncode == 0  # the folder of runs stands for its newest
    assert settings.read_text() == before


def test_changed_scenarios_are_refused(tmp_path):
    assert run("--config", write_settings(tmp_path, 1)).returncode == 0
    with Ledger(tmp_path / "runs" / "0001" / "ledger.sqlite") as ledger, ledger._transaction():
        ledger._db.execute("UPDATE meta SET value = value || '0' WHERE key = 'source'")
        ledger._db.execute("UPDATE seals SET sha256 = ? WHERE round = -1", (ledger._seal(-1),))
    done = run("--resume", tmp_path / "runs" / "0001")
    assert done.returncode == 1 and "other scenarios" in done.stderr


def test_unused_settings_warn(tmp_path):
    config = write_settings(tmp_path, 1)
    assert "env.partner" in run("--config", config, "--set", "env.partner=tough").stdout
    assert run("--config", config, "--resume", "--set", "league.confidence=0.9").returncode == 0


def test_locked_run_is_refused(tmp_path):
    config = write_settings(tmp_path, 1)
    assert run("--config", config).returncode == 0
    folder = tmp_path / "runs" / "0001"
    with RunDirectory(folder):
        done = run("--config", config, "--resume")
    assert done.returncode == 1 and "another process" in done.stderr and "Traceback" not in done.stderr


def test_other_settings_are_refused(tmp_path):
    config = write_settings(tmp_path, 1)
    assert run("--config", config).returncode == 0
    before = fingerprint(tmp_path / "runs" / "0001")
    done = run("--config", config, "--resume", "--set", "env.max_turns=6", "--set", "league.rounds=9")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "env.max_turns: 10 -> 6" in done.stderr and "league.rounds: 1 -> 9" in done.stderr
    assert fingerprint(tmp_path / "runs" / "0001") == before


def test_paths_may_change_between_start_and_resume(tmp_path, data_dir):
    config = write_settings(tmp_path, 1)
    source = ["--set", "env.scenarios=self_play", "--set", f"env.data_dir={data_dir}"]
    assert run("--config", config, *source).returncode == 0
    (tmp_path / "moved").symlink_to(data_dir)
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    source[-1] = f"env.data_dir={tmp_path / 'moved'}"
    done = run("--config", config, *source, "--resume", tmp_path / "elsewhere" / "0001")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--set", "league.round=1"], 2, "did you mean 'rounds'"),  # over the default league
        (["--config", "missing.yaml"], 2, "missing.yaml"),
        (["--config", "CONFIG", "--set", "league.round=1"], 2, "did you mean 'rounds'"),
        (
            ["--config", "CONFIG", "--set", "env.scenarios=self_play", "--set", "env.data_dir=nowhere"],
            2,
            "dond data fetch",
        ),
        (["--config", "CONFIG", "--set", "members=[heuristc]"], 2, "did you mean 'heuristic'"),
        (["--config", "CONFIG", "--resume"], 2, "runs"),
        (["--resume"], 2, "runs"),
        (["--resume", "nowhere"], 2, "nowhere"),
        (["--config", "CONFIG", "--set", "logging.output_dir=/proc/runs"], 1, "no run folder can be made"),
        (["--config", "CONFIG", "--set", "logging.output_dir=CONFIG"], 1, "no run folder can be made"),
    ],
)
def test_errors_and_exit_codes(tmp_path, arguments, code, words):
    config = str(write_settings(tmp_path, 1))
    done = run(*[argument.replace("CONFIG", config) for argument in arguments], cwd=tmp_path)
    assert done.returncode == code and words in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())


def test_other_machine_warns(tmp_path):
    import sqlite3

    assert run("--config", write_settings(tmp_path, 1)).returncode == 0
    folder = tmp_path / "runs" / "0001"
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        db.execute("""UPDATE notes SET value = replace(value, '"numpy": "', '"numpy": "0.') WHERE key = 'machine'""")
    db.close()
    done = run("--resume", folder)
    assert done.returncode == 0 and "started elsewhere: numpy 0." in done.stdout


PLUGIN = """
import numpy as np
from dond_marl.seats import Traits, decide

class Broken:
    '''Raises, asks for more than there is, or answers nonsense, from its second turn on.'''
    traits = Traits(deterministic=True)
    def __init__(self, how="raises"):
        self.how = how
    def act(self, turns):
        if turns.turns_taken < 2:
            return decide(np.zeros(turns.size), turns.counts)
        if self.how == "exits":
            raise SystemExit(0)
        if self.how == "raises":
            raise RuntimeError(f"lost my notes\\nin \\x1b[2J the rain \\ud800 {object()}")
        return {"illegal": decide(np.zeros(turns.size), turns.counts + 1), "nonsense": "AGREE"}[self.how]
"""


@pytest.fixture
def plugged(tmp_path) -> dict[str, str]:
    """An environment in which a third party's partner is installed."""
    site = install(tmp_path / "site", "third_party", PLUGIN, "broken = third_party:Broken")
    return {**os.environ, "PYTHONPATH": str(site)}


def test_failing_foreign_partner_forfeits(tmp_path, plugged):
    members = "members=[random, tough, broken, broken(how=illegal), broken(how=nonsense), broken(how=exits)]"
    for _ in range(2):
        done = run("--config", write_settings(tmp_path, 2), "--set", members, env=plugged)
        assert done.returncode == 0, done.stderr
    assert "RuntimeError" in done.stdout and "[2J" in done.stdout and "\x1b" not in done.stdout
    # The words differ from run to run (an address in memory); the rows do not.
    assert fingerprint(tmp_path / "runs" / "0001") == fingerprint(tmp_path / "runs" / "0002")
    alone = run("--config", write_settings(tmp_path, 2, "alone"), "--set", "members=[random, tough]")
    assert alone.returncode == 0
    with Ledger(tmp_path / "runs" / "0001" / "ledger.sqlite") as ledger:
        assert len(ledger.at_fault(0)) == 2 * 4 + 4 + 3 + 2 + 1
        facts_by_leg = {leg.seats: leg.facts for leg in ledger.legs(1)}
    with Ledger(tmp_path / "alone" / "0001" / "ledger.sqlite") as ledger:
        for leg in ledger.legs(1):
            assert (facts_by_leg[leg.seats] == leg.facts).all()
