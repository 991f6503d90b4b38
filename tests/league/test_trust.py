"""What somebody else made runs nothing until the user trusts it, whatever command opens it."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from dond.web.league_follower import DAMAGED, Follower, Leagues
from dond_marl import trust
from dond_marl.errors import Notice, UntrustedError, printable_text
from dond_marl.files import read_bytes
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.occupants import OccupantNameError, _run_file, pin_spec, seat_occupant
from dond_marl.records.record import record_of, to_line
from league.ledger.ledger import SETTINGS_DIGEST, Ledger, LedgerError, ReadLedger, _digest
from league.ledger.trusted_names import names_in
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
  - {kind: linear, name: person}
  - {kind: conceder, name: nested}
heldout: [{kind: boulware, name: heldout}]
learners:
  - {name: main, num_envs: 4, rollout: 2, epochs: 1, minibatch: 32, hidden: [8], decisions: 8}
logging: {output_dir: FOLDER}
"""
EVIL = """
from pathlib import Path

Path(r"MARK").write_text("executed")

class Evil:
    def __init__(self, **_):
        pass
"""
KEY = "DOND_TEST_SECRET"


@pytest.fixture(autouse=True)
def new_user(monkeypatch, tmp_path):
    """A user who has trusted nothing."""
    monkeypatch.setenv("DOND_MARL_HOME", str(tmp_path / "user"))


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> Path:
    """The folder of a finished run whose names are harmless."""
    return played_league(tmp_path_factory.mktemp("honest"), SETTINGS)


class Stranger:
    """A run folder that was forged and sealed again, so that its names reach outside."""

    def __init__(self, honest: Path, folder: Path, address: str) -> None:
        self.mark, self.run = folder / "executed", folder / "runs" / "0001"
        folder.mkdir()
        shutil.copytree(honest, self.run)
        evil, program = folder / "evil.py", folder / "program"
        evil.write_text(EVIL.replace("MARK", str(self.mark)))
        program.write_text(
            f"#!{sys.executable}\nfrom pathlib import Path\nPath(r'{self.mark}').write_text('started')\n"
        )
        program.chmod(0o755)
        self.specs = {
            "file": pin_spec(f"{evil}:Evil"),
            "program": f"negmas(agent='a.B', python='{program}')",
            "service": f"llm(base_url='{address}', key_env={KEY}, model=m, provider=openai)",
            "person": "human(interface='evil:Evil')",
            "heldout": pin_spec(f"{evil}:Evil(rate=2)"),
            "nested": pin_spec(f"trembling(of='{evil}:Evil')"),
        }
        forge(self.run, self.specs, pin_spec(f"{evil}:Evil"))


def forge(run: Path, specs: dict[str, str], settings: str | None = None) -> None:
    """Give members of a run other specs, and its reward the code ``settings``; then seal it again."""
    with Ledger(run / "ledger.sqlite") as ledger:
        config, _ = read_yaml(ledger.settings())
        for member in [*config["members"], *config["heldout"]]:
            member["spec"] = specs.get(member["name"], member["spec"])
        if settings is not None:
            config["learners"][0]["reward"] = settings
        text = write_yaml(config)
        for name, spec in specs.items():
            ledger._db.execute("UPDATE members SET spec = ? WHERE member = ?", (spec, name))
        ledger._db.execute("UPDATE notes SET value = ? WHERE key = 'config'", (text,))
        ledger._db.execute("UPDATE notes SET value = ? WHERE key = ?", (_digest(text), SETTINGS_DIGEST))
        for number in range(-1, ledger.next_round):
            ledger._db.execute("UPDATE seals SET sha256 = ? WHERE round = ?", (ledger._seal(number), number))


@pytest.fixture
def service():
    """A server of the stranger's, which would receive the key."""
    running = Service(lambda *_: completion())
    yield running
    running.close()


@pytest.fixture
def stranger(honest, tmp_path, service, monkeypatch) -> Stranger:
    without_proxy_and_key(monkeypatch)
    monkeypatch.setenv(KEY, "the-secret")
    return Stranger(honest, tmp_path / "stranger", service.url)


VIEWERS = {  # show what the ledger holds, and succeed
    "report": ("report", "--run", "RUN"),
    "report as JSON": ("report", "--run", "RUN", "--format", "json", "--out", "OUT/report.json"),
    "export of games": ("export", "RUN", "--to", "csv", "--out", "OUT/games"),
    "explain": ("league", "explain", "--run", "RUN", "--round", "1"),
    "export of a learner": ("export", "RUN", "--to", "checkpoint", "--member", "main", "--out", "OUT/main.json"),
}
PLAYERS = {  # would construct members, and refuse
    "resume": ("league", "--resume", "RUN"),
    "evaluate": ("evaluate", "--run", "RUN"),
    "bench": ("bench", "run", "--run", "RUN", "--member", "file", "--against", "heuristic", "--sample", "4"),
    "bench of a service": (
        "bench",
        "run",
        "--run",
        "RUN",
        "--member",
        "service",
        "--against",
        "heuristic",
        "--sample",
        "4",
    ),
}


def untouched(stranger: Stranger, service: Service) -> bool:
    """Whether nothing of the stranger's was executed, started or contacted."""
    return not stranger.mark.exists() and not service.heard


@pytest.mark.parametrize("words", VIEWERS.values(), ids=VIEWERS)
def test_viewers_show_a_strangers_run_and_execute_nothing(words, stranger, service, tmp_path):
    done = in_process(*(w.replace("RUN", str(stranger.run)).replace("OUT", str(tmp_path)) for w in words), cwd=tmp_path)
    assert untouched(stranger, service)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", PLAYERS.values(), ids=PLAYERS)
def test_commands_that_play_refuse_a_strangers_names(words, stranger, service, tmp_path):
    done = in_process(*(word.replace("RUN", str(stranger.run)) for word in words), cwd=tmp_path)
    assert untouched(stranger, service)
    assert done.returncode == 2 and "--trust" in done.stderr
    assert "Traceback" not in done.stderr and "the-secret" not in done.stderr + done.stdout


def test_the_page_shows_a_strangers_run_and_seats_only_harmless_members(stranger, service):
    with Follower(stranger.run) as follower:
        follower.refresh()
        assert follower.view() is not None
        follower.partner("main")
        for name in stranger.specs:
            with pytest.raises(UntrustedError):
                follower.partner(name)
    assert untouched(stranger, service)


def test_a_run_is_shown_where_its_code_is_missing(stranger, tmp_path):
    (tmp_path / "stranger" / "evil.py").unlink()
    assert in_process("report", "--run", stranger.run).returncode == 0


def _pages(run: Path, **allowed: bool):
    """A client of the pages over a run, and the keys of its members by name."""
    testclient = pytest.importorskip("starlette.testclient", reason="the pages come with the [ui] extra")
    from dond.web.occupants import AllowedNames, Desk
    from dond.web.pages import application

    runs, games = run.parent, run.parent / "games"
    leagues = Leagues(runs, None)
    desk = Desk(leagues.runs, games / "book.jsonl", games, None, 0, AllowedNames(**allowed))
    client = testclient.TestClient(application(desk, leagues, None, None, None))
    keys = {candidate.name: key for key, candidate in desk.menu().candidates.items() if candidate.run}
    return client, keys


def test_pages_refuse_a_strangers_members_in_a_sentence(stranger, service):
    client, keys = _pages(stranger.run, anything=True)
    assert client.get(f"/league/panels?run={stranger.run}").status_code == 200
    for name in ("file", "program", "service", "person", "nested"):
        watched = {"run": str(stranger.run), "first": name, "second": "main"}
        for answer in (
            client.post("/deal", data={"other": keys[name]}),
            client.post("/arena", data={"one": keys[name], "other": "pushover", "games": "10"}),
            client.post("/arena", data={"one": "pushover", "other": f"{stranger.run.parent.name}:{name}"}),
            client.post("/league/watch", data=watched),
        ):
            assert answer.status_code == 200 and "--trust" in answer.text
    assert untouched(stranger, service)


def test_pages_seat_a_strangers_member_once_it_is_trusted(honest, tmp_path):
    run, mark, code = tmp_path / "stranger" / "runs" / "0001", tmp_path / "executed", tmp_path / "friend.py"
    shutil.copytree(honest, run)
    code.write_text(
        f"from pathlib import Path\nfrom partners.scripted.heuristic import Pushover\n\nPath(r'{mark}').touch()\n\n\n"
        "class Friend(Pushover):\n    pass\n"
    )
    forge(run, {"file": pin_spec(f"{code}:Friend")})
    client, keys = _pages(run, anything=True)
    assert "--trust" in client.post("/deal", data={"other": keys["file"]}).text and not mark.exists()
    trust.trust_everything()
    assert client.post("/deal", data={"other": keys["file"]}).url.path.startswith("/game/") and mark.exists()


def test_pages_replay_a_strangers_game_and_execute_nothing(stranger, service):
    client, _ = _pages(stranger.run, anything=True)
    state = apply(State(Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1))), Rules()), Action(Act.DISAGREE))
    games = stranger.run.parent / "games" / "theirs.jsonl"
    games.parent.mkdir()
    games.write_text("".join(f"{to_line(record_of(state, (spec, spec)))}\n" for spec in stranger.specs.values()))
    for number in range(1, len(stranger.specs) + 1):
        for path in ("/replay", "/replay/policy", "/replay/analysis"):
            assert client.get(path, params={"file": str(games), "game": number}).status_code == 200
    assert untouched(stranger, service)


def test_trust_option_allows_what_the_run_names(stranger, tmp_path):
    words = ("bench", "run", "--run", str(stranger.run), "--member", "file", "--against", "heuristic", "--sample", "4")
    in_process(*words, "--trust", cwd=tmp_path)
    assert stranger.mark.exists()


def test_trusted_once_stays_trusted_and_a_changed_run_does_not(stranger):
    with ReadLedger(stranger.run / "ledger.sqlite") as ledger:
        with pytest.raises(UntrustedError) as refused:
            ledger.require_trust()
        trust.trust_document(refused.value)
    with ReadLedger(stranger.run / "ledger.sqlite") as ledger:
        ledger.require_trust()
    code = stranger.mark.parent / "evil.py"
    code.write_text(written := code.read_text() + "# exchanged\n")
    with ReadLedger(stranger.run / "ledger.sqlite") as ledger, pytest.raises(UntrustedError):
        ledger.require_trust()
    code.write_text(written.removesuffix("# exchanged\n"))
    with Ledger(stranger.run / "ledger.sqlite") as ledger:
        ledger.require_trust()
        ledger._db.execute("UPDATE members SET spec = 'other.py:Evil' WHERE member = 'file'")
        with pytest.raises(UntrustedError):
            ledger.require_trust()


def test_a_run_of_this_user_is_trusted_by_its_signature(tmp_path, monkeypatch):
    code, config = tmp_path / "mine.py", tmp_path / "league.yaml"
    code.write_text("from partners.scripted.heuristic import Pushover as Mine\n")
    text = SETTINGS.replace("FOLDER", str(tmp_path / "runs")).replace("kind: pushover", f"kind: '{code}:Mine'")
    config.write_text(text)
    assert in_process("league", "--config", config, "--quiet").returncode == 0
    run = tmp_path / "runs" / "0001"
    with ReadLedger(run / "ledger.sqlite") as ledger:
        ledger.require_trust()
    monkeypatch.setenv("DOND_MARL_HOME", str(tmp_path / "another user"))
    with ReadLedger(run / "ledger.sqlite") as ledger, pytest.raises(UntrustedError):
        ledger.require_trust()


def test_typed_names_are_allowed_though_a_strangers_run_has_them_too(stranger):
    trust.allow_typed_names(["--against", stranger.specs["file"]])
    with ReadLedger(stranger.run / "ledger.sqlite") as ledger:
        ledger.members()
    with pytest.raises(OccupantNameError):  # it runs, and is no partner
        seat_occupant(stranger.specs["file"])
    assert stranger.mark.exists()


@pytest.mark.parametrize(
    ("data", "effects"),
    [
        ("boulware(exponent=4)", []),
        ("mixture(of=[boulware, heuristic(demand=0.5)])", []),
        ("checkpoint(path='runs/a/step.json', greedy=True)", []),
        ({"logging": {"output_dir": "runs/x"}, "text": "a sentence (of words)"}, []),
        ("llm(provider=groq)", ["queries"]),
        ("llm", ["queries"]),
        ("\uff4c\uff4c\uff4d", ["queries"]),
        ({"members": ["llm", "tough"]}, ["queries"]),
        ("mixture(of=[llm, heuristic])", ["queries"]),
        ({"hints": {"mode": "llm"}}, ["queries"]),
        ({"kind": "my.py:Partner()", "name": "x"}, ["passes on"]),
        ({"kind": "trembling(of='my.py:P')"}, ["passes on"]),
        ({"kind": "my.py:P\uff56", "name": "x"}, ["passes on"]),
        ({"kind": "boulware", "name": "stubborn Bob"}, []),
        ("trembling(of={'my.py:P'})", ["runs the code"]),
        ("trembling(of={'my.py:P': 1})", ["runs the code"]),
        ({"reward": "llm_judge(stubborn)"}, ["queries"]),
        ({"reward": "llm_judge(stubborn, base_url='http://a', key_env=K)"}, ["contacts", "queries", "sends the key"]),
        ({"reward": "llm_judge(*stubborn)"}, ["passes on"]),
        ({"reward": "svo(45)"}, []),
        ({"kind": "trembling", "of='my.py:P', rate": 0.1}, ["passes on"]),
        ({"kind": "negmas", "\uff50\uff59\uff54\uff48\uff4f\uff4e": "p"}, ["passes on"]),
        ("my.py:Partner(rate=2)", ["runs the code"]),
        ({"kind": "my.py:Partner", "rate": 2}, ["runs the code"]),
        ("best_response(to='my.py:Partner')", ["runs the code"]),
        ("mixture(of=[boulware, \"trembling(of='my.py:P')\"])", ["runs the code"]),
        ("llm(base_url='http://a', provider=openai)", ["contacts the server", "queries"]),
        ("llm(base_url='http://a')", ["contacts the server", "queries", "sends Groq's key to"]),
        ("llm(key_env=AWS_SECRET_ACCESS_KEY)", ["queries", "sends the key in"]),
        ({"reward": "llm_judge(stubborn, base_url='http://a')"}, ["contacts", "queries", "sends Groq's key to"]),
        ({"mode": "llm", "options": {"base_url": "http://a"}}, ["contacts", "queries", "sends Groq's key to"]),
        ("llm(base_url='http://a', key_env=None)", ["contacts", "queries", "sends Groq's key to"]),
        ({"init_from": "runs/a/checkpoints/step.json"}, []),
        ({"init_from": "expert(path='a.json', fallback='my.py:P')"}, ["runs the code"]),
        ({"hints": {"options": {"base_url": "http://a", "key_env": "K"}}}, ["contacts the server", "sends the key in"]),
        ("llm(provider=hf, model='/home/other/model')", ["passes on", "queries"]),
        ({"backend": {"kind": "ray", "ray_address": "there:1"}}, ["contacts the server"]),
    ],
)
def test_hazards_of_names_and_settings(data, effects):
    found = sorted(hazard.effect for hazard in trust.hazards_in(data))
    assert len(found) == len(effects) and all(map(str.startswith, found, sorted(effects)))


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_only_regular_files_are_read(make, tmp_path):
    make(tmp_path / "thing")
    with pytest.raises(OSError):
        read_bytes(tmp_path / "thing", 100)


def test_files_over_the_bound_are_refused(tmp_path):
    (tmp_path / "large").write_bytes(b"x" * 101)
    with pytest.raises(OSError):
        read_bytes(tmp_path / "large", 100)
    assert len(read_bytes(tmp_path / "large", 101)) == 101


@pytest.mark.filterwarnings("ignore::dond_marl.errors.Notice")
def test_dry_run_of_a_config_runs_nothing_of_it(tmp_path):
    code, program = tmp_path / "evil.py", tmp_path / "program"
    code.write_text(EVIL.replace("MARK", str(tmp_path / "executed")))
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/executed\n")
    program.chmod(0o755)
    text = SETTINGS.replace("FOLDER", str(tmp_path / "runs")).replace("kind: pushover", f"kind: '{code}:Evil'")
    text = text.replace("kind: stubborn", f"kind: negmas, agent: a.B, python: '{program}'")
    text = text.replace("decisions: 8}", f"decisions: 8, reward: '{code}:Evil'}}")
    (tmp_path / "league.yaml").write_text(text)
    done = in_process("league", "--config", tmp_path / "league.yaml", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "executed").exists() and not (tmp_path / "runs").exists()


def test_key_goes_to_no_server_that_only_a_config_names(service, tmp_path, monkeypatch):
    without_proxy_and_key(monkeypatch)
    monkeypatch.setenv(KEY, "the-secret")
    spec = f"llm(provider=openai, base_url='{service.url}', model=m, key_env={KEY})"
    text = SETTINGS.replace("FOLDER", str(tmp_path / "runs")).replace("kind: tough", f'kind: llm, spec: "{spec}"')
    (tmp_path / "league.yaml").write_text(text.replace("kind: llm, ", ""))
    done = in_process("league", "--config", tmp_path / "league.yaml", "--quiet", cwd=tmp_path)
    assert done.returncode == 2 and "--trust" in done.stderr and not service.heard
    assert "the-secret" not in done.stdout + done.stderr
    done = in_process("league", "--config", tmp_path / "league.yaml", "--quiet", "--trust", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert service.heard and service.heard[0].headers["authorization"] == "Bearer the-secret"


@pytest.mark.parametrize("words", VIEWERS.values(), ids=VIEWERS)
def test_readers_say_that_rows_were_changed(words, honest, tmp_path):
    copy = tmp_path / "runs" / "0001"
    shutil.copytree(honest, copy)
    with Ledger(copy / "ledger.sqlite") as ledger:
        ledger._db.execute("UPDATE matches SET facts = zeroblob(length(facts)) WHERE round = 0 AND leg = 1")
    with pytest.warns(Notice, match="round 1"):
        in_process(*(w.replace("RUN", str(copy)).replace("OUT", str(tmp_path)) for w in words), cwd=tmp_path)
    with pytest.warns(Notice), Follower(copy) as follower:
        follower.refresh()
        assert DAMAGED in follower.view().headline


def test_scenarios_of_another_length_are_damage(honest, tmp_path):
    shutil.copytree(honest, tmp_path / "0001")
    with Ledger(tmp_path / "0001" / "ledger.sqlite") as ledger:
        ledger._db.execute("UPDATE rounds SET scenarios = zeroblob(1000000)")
        for number in range(ledger.next_round):
            ledger._db.execute("UPDATE seals SET sha256 = ? WHERE round = ?", (ledger._seal(number), number))
    done = in_process("league", "--resume", tmp_path / "0001")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    with Ledger(tmp_path / "0001" / "ledger.sqlite") as ledger, pytest.raises(LedgerError):
        ledger.scenarios(0)


@pytest.mark.parametrize("kind", ["fifo", "endless"])
@pytest.mark.parametrize("words", [*VIEWERS.values(), *PLAYERS.values()], ids=[*VIEWERS, *PLAYERS])
def test_weights_that_are_no_regular_file_are_refused_at_once(words, kind, honest, tmp_path):
    copy = tmp_path / "runs" / "0001"
    shutil.copytree(honest, copy)
    for blob in (copy / "blobs").iterdir():
        blob.unlink()
        os.mkfifo(blob) if kind == "fifo" else blob.symlink_to("/dev/zero")
    words = [word.replace("RUN", str(copy)).replace("OUT", str(tmp_path)).replace("service", "main") for word in words]
    done = in_process(*words, cwd=tmp_path)
    assert done.returncode in (0, 1, 2) and "Traceback" not in done.stderr


@pytest.fixture
def training(tmp_path, monkeypatch) -> Path:
    """The folder of another user's training against their own code, and a file of games that names it."""
    code, mark = tmp_path / "evil.py", tmp_path / "executed"
    code.write_text(
        EVIL.replace("MARK", str(mark)) + "\nfrom partners.scripted.heuristic import Pushover\n\nEvil = Pushover\n"
    )
    monkeypatch.setenv("DOND_MARL_HOME", str(tmp_path / "another user"))
    overrides = (f"env.partner={code}:Evil", "training.num_train_steps=64", "training.rollout=8", "training.num_envs=4")
    done = in_process(
        *("train", "--config", "ppo_config.yaml", "--set", f"logging.output_dir={tmp_path / 'runs'}"),
        *(word for override in (*overrides, "training.hidden=[8]") for word in ("--set", override)),
        cwd=tmp_path,
    )
    assert done.returncode == 0 and mark.exists(), done.stderr
    monkeypatch.setenv("DOND_MARL_HOME", str(tmp_path / "user"))
    mark.unlink()
    trust._TYPED.clear()  # from here on as in another process
    _run_file.cache_clear()
    return tmp_path / "runs" / "0001"


def test_training_of_another_user_is_not_resumed(training, tmp_path):
    done = in_process("train", "--resume", training)
    assert done.returncode == 2 and "--trust" in done.stderr and not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "--member", "checkpoint(path='CHECKPOINT')", "--against", "heuristic", "--sample", "4"),
        ("bench", "CHECKPOINT", "--against", "heuristic", "--sample", "4", "--results", "OUT/results.jsonl"),
        ("bench", "table", "--results", "OUT/forged.jsonl"),
        ("data", "transcripts", "replay", "OUT/games.jsonl", "--show", "1"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_checkpoints_results_and_records_run_nothing_that_they_name(words, training, tmp_path):
    checkpoint = max(training.glob("checkpoints/*.json"))
    state = apply(State(Scenario((1, 2, 3), ((4, 0, 2), (1, 3, 1))), Rules()), Action(Act.END))
    game = record_of(state, ("pushover", "pushover"))
    evil = f"{tmp_path / 'evil.py'}:Evil"
    (tmp_path / "games.jsonl").write_text(to_line(dataclasses.replace(game, occupants=(evil, evil))) + "\n")
    (tmp_path / "forged.jsonl").write_text(json.dumps({"format": 1, "submission": {"spec": evil}}) + "\n")
    replacements = {"RUN": str(training), "CHECKPOINT": str(checkpoint), "OUT": str(tmp_path)}
    words = [functools.reduce(lambda text, pair: text.replace(*pair), replacements.items(), word) for word in words]
    done = in_process(*words, cwd=tmp_path)
    assert "Traceback" not in done.stderr and not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    "kind", ["{evil}:Evil()", "trembling(of='{evil}:Evil')", "{evil}:E\uff56il", "negmas(agent='a.B', python='{evil}')"]
)
def test_kind_that_hides_a_name_is_refused_and_runs_nothing(kind, stranger, service, tmp_path):
    with Ledger(stranger.run / "ledger.sqlite") as ledger:
        config, _ = read_yaml(ledger.settings())
        config["heldout"] = [{"kind": kind.format(evil=tmp_path / "stranger" / "evil.py"), "name": "hidden"}]
        text = write_yaml(config)
        ledger._db.execute("UPDATE notes SET value = ? WHERE key = 'config'", (text,))
        ledger._db.execute("UPDATE notes SET value = ? WHERE key = ?", (_digest(text), SETTINGS_DIGEST))
    for words in (("report", "--run", stranger.run), ("league", "--resume", stranger.run)):
        assert in_process(*words).returncode == 2
    assert untouched(stranger, service)


def seal(ledger: Ledger, text: str) -> None:
    """Replace the settings of a run, and seal it again."""
    ledger._db.execute("UPDATE notes SET value = ? WHERE key = 'config'", (text,))
    ledger._db.execute("UPDATE notes SET value = ? WHERE key = ?", (_digest(text), SETTINGS_DIGEST))
    for number in range(-1, ledger.next_round):
        ledger._db.execute("UPDATE seals SET sha256 = ? WHERE round = ?", (ledger._seal(number), number))


@pytest.fixture
def harmless(stranger, honest, tmp_path) -> Path:
    """A run of the stranger's with harmless names, to be forged."""
    return Path(shutil.copytree(honest, tmp_path / "harmless" / "0001"))


HIDING = {  # parameter names that are text of a program
    "code": {"kind": "trembling", "of='FOLDER/evil.py:Evil', rate": 0.1},
    "program": {"kind": "trembling", "of": {"kind": "negmas", "agent='a.B', python='FOLDER/program', limit": 1}},
    "letters": {
        "kind": "trembling",
        "of": {"kind": "negmas", "\uff41gent": "a.B", "\uff50ython": "FOLDER/program"},
    },
}


@pytest.mark.parametrize("words", [*VIEWERS.values(), *PLAYERS.values()], ids=[*VIEWERS, *PLAYERS])
@pytest.mark.parametrize("hiding", HIDING.values(), ids=HIDING)
def test_parameter_names_are_no_text_of_a_program(hiding, words, harmless, stranger, service, tmp_path):
    partner = json.loads(json.dumps(hiding).replace("FOLDER", str(stranger.mark.parent)))
    with Ledger(harmless / "ledger.sqlite") as ledger:
        config, _ = read_yaml(ledger.settings())
        config["env"]["partner"] = partner
        seal(ledger, write_yaml(config))
    done = in_process(*(w.replace("RUN", str(harmless)).replace("OUT", str(tmp_path)) for w in words), cwd=tmp_path)
    assert untouched(stranger, service) and done.returncode == 2 and "Traceback" not in done.stderr


def test_names_of_members_that_move_a_cursor_are_refused(harmless):
    with Ledger(harmless / "ledger.sqlite") as ledger:
        ledger._db.execute("PRAGMA foreign_keys = OFF")
        ledger._db.execute("UPDATE members SET member = ? WHERE position = 0", ("\x1b]0;mine\x07",))
        seal(ledger, ledger.settings())
    done = in_process("report", "--run", harmless)
    assert done.returncode == 1 and "\x1b" not in done.stdout + done.stderr and "cannot be printed" in done.stderr
    assert printable_text("a\tb\n\x1b[2J\u202e") == "a\tb\n\\x1b[2J\\u202e"


def test_study_is_not_exported_through_a_link(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "export").symlink_to(tmp_path / "own")
    done = in_process("study", "export", tmp_path / "study")
    assert done.returncode == 1 and "is a link" in done.stderr and not any((tmp_path / "own").iterdir())


def test_settings_without_paths_are_checked_as_the_settings_are(harmless, stranger, service):
    with Ledger(harmless / "ledger.sqlite") as ledger:
        config, _ = read_yaml(ledger.meta()["settings"])
        config["members"][0]["spec"] = f"{stranger.mark.parent}/evil.py:Evil"
        ledger._db.execute("UPDATE meta SET value = ? WHERE key = 'settings'", (write_yaml(config),))
        seal(ledger, ledger.settings())
    done = in_process("league", "--resume", harmless)
    assert untouched(stranger, service) and done.returncode == 2 and "--trust" in done.stderr


@pytest.mark.parametrize("reward", ["llm_judge(stubborn, PLACE)", "llm_judge(style=stubborn, PLACE)"])
def test_key_of_a_judge_needs_trust_however_its_style_is_written(reward, harmless, stranger, service, tmp_path):
    reward = reward.replace("PLACE", f"provider=openai, base_url='{service.url}', key_env={KEY}, model=m")
    with Ledger(harmless / "ledger.sqlite") as ledger:
        config, _ = read_yaml(ledger.settings())
        config["learners"][0]["reward"], config["league"]["rounds"] = reward, 2
        seal(ledger, write_yaml(config))
    (tmp_path / "league.yaml").write_text(write_yaml(config))
    for words in (("--resume", harmless), ("--config", tmp_path / "league.yaml", "--quiet")):
        done = in_process("league", *words, cwd=tmp_path)
        assert done.returncode == 2 and "--trust" in done.stderr and untouched(stranger, service)


def test_hazards_that_were_not_found_in_a_document_are_refused_while_its_names_are_used(stranger):
    for document in (trust.admit("run", "text", ()), trust.admit("run", "text", trust.hazards_in("llm"))):
        with trust.names_of(document), pytest.raises(UntrustedError):
            seat_occupant(stranger.specs["file"])
    assert not stranger.mark.exists()
    trust.allow_typed_names([stranger.specs["file"]])
    with trust.names_of(document), pytest.raises(OccupantNameError):  # it runs, and is no partner
        seat_occupant(stranger.specs["file"])
    assert stranger.mark.exists()


def test_typed_paths_and_names_of_members_are_no_names_that_the_user_allowed(stranger, tmp_path, monkeypatch):
    monkeypatch.chdir(stranger.mark.parent)
    Path("evil.py:Evil").mkdir()  # a run folder of that name, which the user types
    trust.allow_typed_names(["evil.py:Evil", "llm"])
    trust.allow_typed_names(["bench", "run", "--run", "RUN", "--member", "evil.py:Other", "--member=evil.py:Third"])
    with trust.names_of(trust.admit("run", "text", ())):
        for spec in ("evil.py:Evil", "llm", "evil.py:Other", "evil.py:Third"):
            with pytest.raises(UntrustedError):
                seat_occupant(spec)
    assert not stranger.mark.exists()


def test_own_names_are_used_after_a_harmless_run_of_another_user_was_opened(honest, stranger):
    with ReadLedger(honest / "ledger.sqlite") as ledger:
        ledger.config(), ledger.members()
    with pytest.raises(OccupantNameError):  # it runs, and is no partner
        seat_occupant(stranger.specs["file"])
    assert stranger.mark.exists()


def test_strangers_run_does_not_stop_what_a_visitor_chooses_nor_an_own_league(honest, tmp_path, monkeypatch):
    from dond.web.occupants import AllowedNames, OccupantMenu, make_partner

    without_proxy_and_key(monkeypatch)
    theirs, own = tmp_path / "theirs" / "0001", tmp_path / "own" / "0001"
    shutil.copytree(honest, theirs)
    shutil.copytree(honest, own)
    for run in (theirs, own):
        forge(run, {"service": "llm(provider=groq)"})
    with Ledger(own / "ledger.sqlite") as ledger:
        document, _ = names_in(
            ledger.settings(), [m.spec for m in ledger.members() if m.spec], ledger.meta()["settings"]
        )
        ledger._db.execute("INSERT INTO notes VALUES ('signature', ?)", (trust.sign(document),))
    menu = OccupantMenu([theirs, own], AllowedNames(anything=True))
    for _ in range(2):  # once more from the cache
        make_partner(menu.candidate("", "llm(provider=groq)"))
        make_partner(menu.candidate(menu.key_of(str(own), "service")))
        with pytest.raises(UntrustedError):
            make_partner(menu.candidate(menu.key_of(str(theirs), "service")))
        with pytest.raises(UntrustedError):
            make_partner(menu.resolve("llm(provider=groq)"))


@pytest.mark.parametrize("text", ["trembling(of='\uff4c\uff4c\uff4d')", "trembling(of=['\u2113\u2113m'])"])
def test_pages_check_letters_of_other_alphabets_as_names(text):
    from dond.web.occupants import AllowedNames

    with pytest.raises(OccupantNameError):
        AllowedNames(models=False).check(text)


def test_names_that_change_after_the_check_are_refused(honest, tmp_path):
    shutil.copytree(honest, tmp_path / "0001")
    path = tmp_path / "0001" / "ledger.sqlite"
    with ReadLedger(path) as reader:
        reader.members()
        with closing(sqlite3.connect(path)) as writer, writer:
            writer.execute("UPDATE members SET spec = 'evil.py:Evil' WHERE member = 'file'")
        with pytest.raises(LedgerError):
            reader.members()


def test_other_tables_than_ours_are_refused(honest, tmp_path):
    shutil.copytree(honest, tmp_path / "0001")
    path = tmp_path / "0001" / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as writer, writer:
        writer.execute("ALTER TABLE members RENAME TO stored")
        writer.execute("CREATE VIEW members AS SELECT * FROM stored")
    for ledger in (Ledger, ReadLedger):
        with pytest.raises(LedgerError):
            ledger(path)


def test_one_refusal_names_everything_that_trust_would_allow(stranger):
    with ReadLedger(stranger.run / "ledger.sqlite") as ledger:
        ledger.members()
    with pytest.raises(UntrustedError) as refused:
        seat_occupant(stranger.specs["file"])
    assert any("program" in hazard for hazard in refused.value.hazards)


def test_harmless_run_of_another_user_needs_no_trust(honest, monkeypatch, tmp_path):
    monkeypatch.setenv("DOND_MARL_HOME", str(tmp_path / "elsewhere"))
    with ReadLedger(honest / "ledger.sqlite") as ledger:
        ledger.require_trust()


@pytest.mark.parametrize(
    "name", sorted(path.name for path in presets_folder().glob("*.yaml") if path.name != "study.yaml")
)
def test_shipped_configs_hold_no_hazard_but_language_models(name):
    data, _ = read_yaml((presets_folder() / name).read_bytes())
    effects = {hazard.effect for hazard in trust.hazards_in(data)}
    assert effects <= ({trust.QUERIES, "writes to"} if "llm" in name else set()), effects


def test_nothing_is_signed_or_trusted_without_a_home_folder(stranger, tmp_path, monkeypatch):
    for name in ("DOND_MARL_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "relative")
    assert trust.sign("text") is None
    opened = trust.admit("file", "text", {trust.Hazard(trust.RUNS_FILE, "~nosuch/a.py:A")}, signature="0" * 64)
    assert not opened.trusted
    config = tmp_path / "own.yaml"
    config.write_text(SETTINGS.replace("FOLDER", str(tmp_path / "runs")))
    assert in_process("league", "--config", config, "--quiet").returncode == 0
