"""Names in a run that was opened use code, other files, services and keys only with ``--trust``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dond.web.league_follower import DAMAGED, Follower
from dond_marl.errors import Notice, UntrustedError
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.occupants import ANYTHING, Spec, expand_run_name, parse_spec, pin_spec, read_spec
from dond_marl.records.record import record_of, to_line
from league import open_league
from league.ledger.ledger import Ledger
from league.settings.layers import presets_folder, read_yaml, write_yaml
from tests.command import in_process, played_league
from tests.loopback import Service, completion, without_proxy_and_key

SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 4}
league: {rounds: 1, block_size: 8, seed: 3, evaluate: false}
members:
  - {kind: pushover, name: file}
  - {kind: stubborn, name: program}
  - {kind: tough, name: service}
  - {kind: linear, name: elsewhere}
  - {kind: conceder, name: nested}
heldout: [{kind: boulware, name: heldout}]
learners:
  - {name: main, num_envs: 4, rollout: 2, epochs: 1, minibatch: 32, hidden: [8], decisions: 8}
logging: {output_dir: FOLDER}
"""
EVIL = """
from pathlib import Path

from partners.scripted.heuristic import Pushover

Path(r"MARK").write_text("executed")

class Evil(Pushover):
    pass
"""
KEY = "DOND_TEST_SECRET"
RUN_TO_LOOK_AT = {  # commands that show a run, and succeed
    "report": ("report", "--run", "RUN"),
    "report as JSON": ("report", "--run", "RUN", "--format", "json", "--out", "OUT/report.json"),
    "export": ("export", "RUN", "--to", "csv", "--out", "OUT/games"),
    "explain": ("league", "explain", "--run", "RUN", "--round", "1"),
}
RUN_TO_USE = {  # commands that would make members, and refuse
    "evaluate": ("evaluate", "--run", "RUN"),
    "bench": [
        "bench",
        "run",
        "--run",
        "RUN",
        "--member",
        "file",
        "--against",
        "heuristic",
        "--sample",
        "4",
        "--allow-uncommitted",
    ],
    "resume": ("league", "--resume", "RUN"),
}
COMMANDS = {**RUN_TO_LOOK_AT, **RUN_TO_USE}


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> Path:
    """The folder of a finished run whose names need nothing."""
    return played_league(tmp_path_factory.mktemp("honest"), SETTINGS)


@pytest.fixture
def service() -> Iterator[Service]:
    """The server of the run's author, which would receive the key."""
    running = Service(lambda *_: completion())
    yield running
    running.close()


def seal(ledger: Ledger, text: str) -> None:
    """Replace the settings of a run, and seal it again."""
    ledger._db.execute("UPDATE notes SET value = ? WHERE key = 'config'", (text,))
    for number in range(-1, ledger.next_round):
        ledger._db.execute("UPDATE seals SET sha256 = ? WHERE round = ?", (ledger._seal(number), number))


def forge(run: Path, specs: dict[str, Spec], code: Spec | None = None) -> None:
    """Give members of a run other specs, and its learner the reward ``code``; then seal it again."""
    with Ledger(run / "ledger.sqlite") as ledger:
        config, _ = read_yaml(ledger.settings())
        for member in [*config["members"], *config["heldout"]]:
            member["spec"] = specs.get(member["name"], parse_spec(member["spec"])).text
        if code is not None:
            config["learners"][0]["reward"] = code.text
        for name, spec in specs.items():
            ledger._db.execute("UPDATE members SET spec = ? WHERE member = ?", (spec.text, name))
        seal(ledger, write_yaml(config))


class Planted:
    """A run folder of another person, whose names use code, a program, a service with a key, and files elsewhere."""

    def __init__(self, honest: Path, folder: Path, address: str) -> None:
        self.folder, self.run, self.mark = folder, folder / "runs" / "0001", folder.parent / "executed"
        shutil.copytree(honest, self.run)
        code, program = folder / "evil.py", folder / "program"
        code.write_text(EVIL.replace("MARK", str(self.mark)))
        program.write_text(f"#!/bin/sh\ntouch {self.mark}\n")
        program.chmod(0o755)
        os.mkfifo(folder / "weights.json")  # whoever opens it waits for a writer, or is refused
        evil = f"{code}:Evil"
        self.specs = {
            "file": pin_spec(parse_spec(evil)),
            "program": Spec("negmas", {"agent": "a.B", "python": str(program)}),
            "service": Spec("llm", {"base_url": address, "key_env": KEY, "model": "m", "provider": "openai"}),
            "elsewhere": Spec("checkpoint", {"path": str(folder / "weights.json")}),
            "nested": pin_spec(Spec("trembling", {"of": evil})),
            "heldout": pin_spec(parse_spec(evil)),
        }
        forge(self.run, self.specs, self.specs["file"])


@pytest.fixture
def planted(honest, tmp_path, service, monkeypatch) -> Planted:
    without_proxy_and_key(monkeypatch)
    monkeypatch.setenv(KEY, "the-secret")
    monkeypatch.setenv("GROQ_API_KEY", "the-secret")
    return Planted(honest, tmp_path / "theirs", service.url)


def words_of(command: str, run: object, out: Path) -> list[str]:
    return [word.replace("RUN", str(run)).replace("OUT", str(out)) for word in COMMANDS[command]]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_planted_run_executes_and_sends_nothing(command, planted, service, tmp_path):
    done = in_process(*words_of(command, planted.run, tmp_path), cwd=tmp_path)
    assert not planted.mark.exists() and not service.heard
    assert "the-secret" not in done.stdout + done.stderr and "Traceback" not in done.stderr
    if command in RUN_TO_LOOK_AT:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 2 and "--trust" in done.stderr


@pytest.mark.parametrize("command", ["bench", "export"])
def test_trust_allows_what_the_run_names(command, honest, planted, tmp_path):
    shutil.rmtree(planted.run)
    shutil.copytree(honest, planted.run)
    forge(planted.run, {"file": planted.specs["file"]})
    done = in_process(*words_of(command, planted.run, tmp_path), "--trust", cwd=tmp_path)
    assert done.returncode == 0 and planted.mark.exists(), done.stderr


def test_typed_name_is_allowed(planted, tmp_path):
    words = ("bench", planted.specs["file"], "--against", "heuristic", "--sample", "4", "--allow-uncommitted")
    assert in_process(*words, "--results", tmp_path / "results.jsonl").returncode == 0 and planted.mark.exists()


def test_own_run_that_needs_something_asks_when_it_is_resumed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text(EVIL.replace("MARK", str(tmp_path / "executed")))
    text = SETTINGS.replace("FOLDER", "runs").replace("kind: pushover", "kind: 'evil.py:Evil'")
    Path("league.yaml").write_text(text)
    assert in_process("league", "--config", "league.yaml", "--quiet").returncode == 0
    refused = in_process("league", "--resume", "runs/0001")
    assert refused.returncode == 2 and "evil.py:Evil" in refused.stderr and "--trust" in refused.stderr
    assert in_process("league", "--resume", "runs/0001", "--trust").returncode == 0


def test_python_asks_for_trust(planted, service):
    for name in ("file", "service", "elsewhere", "nested"):
        with pytest.raises(UntrustedError):
            expand_run_name(f"{planted.run}:{name}")
    assert expand_run_name(f"{planted.run}:file", trust=True) == planted.specs["file"]
    assert open_league(planted.run).frame("acts").attrs["left_out"]
    assert not planted.mark.exists() and not service.heard


def test_training_is_not_resumed_without_trust(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text(EVIL.replace("MARK", str(tmp_path / "executed")))
    settings = ("logging.output_dir=runs", "env.partner=evil.py:Evil", "training.num_train_steps=64")
    shape = ("training.rollout=8", "training.num_envs=4", "training.hidden=[8]")
    words = (word for key in (*settings, *shape) for word in ("--set", key))
    assert in_process("train", "--config", "ppo_config.yaml", *words).returncode == 0
    refused = in_process("train", "--resume", "runs/0001")
    assert refused.returncode == 2 and "--trust" in refused.stderr
    assert in_process("train", "--resume", "runs/0001", "--trust").returncode == 0
    checkpoint = max(Path("runs/0001/checkpoints").glob("*.json"))  # its note names the partner
    Path("executed").unlink()
    Path("evil.py").unlink()
    words = ("bench", checkpoint, "--against", "heuristic", "--sample", "4", "--results", "r.jsonl")
    assert in_process(*words, "--allow-uncommitted").returncode == 0


@pytest.mark.filterwarnings("ignore::dond_marl.errors.Notice")
def test_dry_run_of_a_config_runs_nothing_of_it(planted, tmp_path):
    evil, program = planted.specs["file"].kind, planted.folder / "program"
    text = SETTINGS.replace("FOLDER", str(tmp_path / "runs")).replace("kind: pushover", f"kind: '{evil}'")
    text = text.replace("kind: stubborn", f"kind: negmas, agent: a.B, python: '{program}'")
    text = text.replace("decisions: 8}", f"decisions: 8, reward: '{evil}'}}")
    (tmp_path / "league.yaml").write_text(text)
    done = in_process("league", "--config", tmp_path / "league.yaml", "--dry-run")
    assert done.returncode == 2 and "--trust" in done.stderr
    assert not planted.mark.exists() and not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "name", sorted(path.name for path in presets_folder().glob("*.yaml") if path.name != "study.yaml")
)
def test_shipped_configs_need_nothing_but_language_models(name):
    def texts(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            for part in value.values() if isinstance(value, dict) else value:
                yield from texts(part)

    named = [read_spec(text) for text in texts(read_yaml((presets_folder() / name).read_bytes())[0])]
    assert "llm" in name or not any(spec.needs for spec in named if spec is not None)


# Pages


def pages(run: Path, **allow):
    """A client of the pages over a run, and the keys of its members by name."""
    testclient = pytest.importorskip("starlette.testclient", reason="the pages come with the [ui] extra")
    from dond.web.league_follower import Leagues
    from dond.web.occupants import Desk
    from dond.web.pages import application

    runs, games = run.parent, run.parent / "games"
    leagues = Leagues(runs, None)
    desk = Desk(leagues.runs, games / "book.jsonl", games, None, 0, **allow)
    client = testclient.TestClient(application(desk, leagues, None, None, None))
    keys = {candidate.name: key for key, candidate in desk.menu().candidates.items() if candidate.run}
    return client, keys


def test_pages_show_a_planted_run_and_refuse_its_members(planted, service):
    client, keys = pages(planted.run, typed=ANYTHING)
    assert client.get(f"/league/panels?run={planted.run}").status_code == 200
    for name in ("file", "program", "service", "elsewhere", "nested"):
        watched = {"run": str(planted.run), "first": name, "second": "main"}
        for answer in (
            client.post("/deal", data={"typed": keys[name]}),
            client.post("/arena", data={"one": keys[name], "other": "pushover", "games": "10"}),
            client.post("/league/watch", data=watched),
        ):
            assert answer.status_code == 200 and "--trust" in answer.text
    assert not planted.mark.exists() and not service.heard


def test_pages_seat_members_of_a_trusted_run(planted):
    client, keys = pages(planted.run, stored=ANYTHING)
    assert client.post("/deal", data={"typed": keys["file"]}).url.path.startswith("/game/") and planted.mark.exists()


def test_replays_use_nothing_that_a_record_names(planted, service):
    client, _ = pages(planted.run, typed=ANYTHING, stored=ANYTHING)
    state = apply(State(Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1))), Rules()), Action(Act.DISAGREE))
    games = planted.run.parent / "games" / "theirs.jsonl"
    games.parent.mkdir()
    names = [*planted.specs.values(), *planted.specs]
    games.write_text("".join(f"{to_line(record_of(state, (name, name)))}\n" for name in names))
    for number in range(1, len(names) + 1):
        for path in ("/replay", "/replay/policy", "/replay/analysis"):
            assert client.get(path, params={"file": str(games), "game": number}).status_code == 200
    assert not planted.mark.exists() and not service.heard


# Damage and forged rows


@pytest.mark.parametrize("command", ["export", "explain"])
def test_readers_say_that_rows_were_changed(command, honest, tmp_path):
    copy = tmp_path / "runs" / "0001"
    shutil.copytree(honest, copy)
    with Ledger(copy / "ledger.sqlite") as ledger:
        ledger._db.execute("UPDATE matches SET facts = zeroblob(length(facts)) WHERE round = 0 AND leg = 1")
    with pytest.warns(Notice, match="round 1"):
        in_process(*words_of(command, copy, tmp_path), cwd=tmp_path)
    with pytest.warns(Notice), Follower(copy) as follower:
        assert DAMAGED in follower.view().headline
