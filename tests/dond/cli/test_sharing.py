"""Hub folders: round trips, cards, licences, and no upload without a name and a token."""

from __future__ import annotations

import json
import math
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import torch
import yaml

from dond_marl.occupants import seat_occupant
from dond_marl.records.record import from_json, replay
from league.evaluation.evaluate import scenarios_of
from league.evaluation.matches import heldout_terms, score
from partners.network.checkpoint import load_checkpoint, network_note, save_checkpoint
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.occupants import HUMAN_DIALOGUES
from tests.command import in_process

TOKEN = "hf_not_to_be_shown"
LEAGUE = """
env: {scenarios: lewis, split: train, max_turns: 3}
league: {seed: 3, rounds: 1, block_size: 4, evaluate: false}
members: [heuristic, tough]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    return tmp_path


@pytest.fixture
def model(here):
    """A checkpoint of a small network, which has met somebody, with a counter and an optimizer's tensor beside it."""
    network = PolicyNetwork(NetworkShape(hidden=(8,)), seed=1)
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    about = {**network_note(network), "met": ["tough"], "reward": "own", "counters": {"games": 3}}
    rest = {"optimizer.step": torch.ones(1)}
    save_checkpoint(here / "mine.json", {**tensors, **rest}, about)
    return here / "mine.json"


def card_of(folder) -> tuple[dict, str]:
    _, head, text = (folder / "README.md").read_text().split("---\n", 2)
    return yaml.safe_load(head), text


def test_model_folder_plays_as_its_checkpoint(here, model):
    done = in_process("push", model, "--dry-run", "--sample", 6)
    folder = here / "push" / "model"
    assert done.returncode == 0, done.stderr
    assert {path.name for path in folder.iterdir()} == {
        *("README.md", "LICENSE", "model.json", "model.safetensors", "scores.json")
    }
    kept = load_checkpoint(folder / "model.json")
    assert all(name.startswith("network.") for name in kept.tensors) and kept.about["met"] == ["tough"]
    own, before = kept.network().state_dict(), load_checkpoint(model).network().state_dict()
    assert own.keys() == before.keys() and all((own[name] == before[name]).all() for name in own)
    head, text = card_of(folder)
    assert head["license"] == "mit" and "`tough`" in text and "6 scenarios" in text
    terms = heldout_terms()
    terms = terms._replace(scenarios=scenarios_of(terms.source, 6, terms.seed))
    spec = f"checkpoint(path={str(folder / 'model.json')!r}, greedy=True)"
    points = score(seat_occupant(spec), seat_occupant("heuristic"), terms).points.mean
    scores = json.loads((folder / "scores.json").read_text())["against"]
    assert scores["heuristic"]["points"] == pytest.approx(points, abs=1e-4) and f"| {points:.2f} [" in text
    first = head["model-index"][0]["results"][0]
    assert first["metrics"][0]["value"] == scores["heuristic"]["points"]
    assert len(head["model-index"][0]["results"]) == len(scores) > 5


def test_clone_of_people_has_the_data_licence(here, model):
    weights = load_checkpoint(model)
    save_checkpoint(model, weights.tensors, {**weights.about, "taught_by": HUMAN_DIALOGUES})
    assert in_process("push", model, "--dry-run", "--sample", 1, "--out", "m").returncode == 0
    assert card_of(here / "m")[0]["license"] == "cc-by-nc-4.0" and "CC BY-NC" in (here / "m" / "LICENSE").read_text()


def test_licence_follows_initialisation_not_opponents(here, model):
    weights, clone, said = load_checkpoint(model), "checkpoint(sha256=1)", f"{HUMAN_DIALOGUES}, split train"
    for made_from, licence in (([clone], "cc-by-nc-4.0"), ([], "mit")):
        past = {"met": [clone, said], "met_through": [-1, 0], "descends_from": made_from, "met_unknown": []}
        save_checkpoint(model, weights.tensors, {**weights.about, **past})
        assert in_process("push", model, "--dry-run", "--sample", 1, "--out", "m").returncode == 0
        assert card_of(here / "m")[0]["license"] == licence


def test_folder_with_other_files_is_refused(here, model):
    (here / "a_file").touch()
    for other in ("notes.txt", "README.md"):
        folder = here / other.partition(".")[0]
        folder.mkdir()
        (folder / other).write_text("mine")
        done = in_process("push", model, "--dry-run", "--sample", 1, "--out", folder)
        assert done.returncode == 2 and f"--out {folder}: holds" in done.stderr
        assert (folder / other).read_text() == "mine" and len(list(folder.iterdir())) == 1
    done = in_process("push", model, "--dry-run", "--sample", 1, "--out", "a_file")
    assert done.returncode == 2 and "is a file" in done.stderr


@pytest.mark.parametrize("entry", [{"met": math.nan}, {"met": [3]}, {"reward": math.nan}, {"reward": "\ud800"}])
def test_damaged_note_is_refused(here, model, entry):
    weights = load_checkpoint(model)
    note = {key: value for key, value in weights.about.items() if key not in ("format", "sha256", "note_sha256")}
    save_checkpoint(here / "damaged.json", weights.tensors, {**note, **entry})
    done = in_process("push", here / "damaged.json", "--dry-run", "--sample", 1)
    assert done.returncode == 1 and next(iter(entry)) in done.stderr and not (here / "push").exists()


def test_card_of_a_league_member_names_the_rewards_of_its_stages(here):
    learner = "{name: main, reward: own, hidden: [8], rollout: 2, num_envs: 8, decisions: 16, snapshot_every: 1}"
    stages = "[{name: first, rounds: 1, learners: {main: {reward: spite(weight=1)}}}, {name: second}]"
    text = LEAGUE.replace("rounds: 1", "rounds: 2") + f"learners: [{learner}]\nstages: {stages}\n"
    (here / "league.yaml").write_text(text)
    assert in_process("league", "--config", "league.yaml", "--quiet").returncode == 0
    refused = in_process("push", "runs/league/0001", "--dry-run")
    assert refused.returncode == 2 and "runs/league/0001:main" in refused.stderr
    export = ("export", "runs/league", "--to", "checkpoint", "--member")
    assert in_process(*export, "main", "--out", "main.json").returncode == 0
    assert in_process(*export, "main@1", "--out", "first.json").returncode == 0
    assert load_checkpoint(here / "first.json").about["reward"] == "spite(weight=1)"
    assert in_process("push", "main.json", "--dry-run", "--sample", 1).returncode == 0
    assert "`spite(weight=1), then own`" in card_of(here / "push" / "model")[1]


def test_data_set_holds_transcripts_and_records(here):
    (here / "league.yaml").write_text(LEAGUE)
    assert in_process("league", "--config", "league.yaml", "--quiet").returncode == 0
    done = in_process("push", "runs/league", "--transcripts", "--dry-run", "--out", "data_set")
    assert done.returncode == 0 and "16 games" in done.stdout, done.stderr
    head, text = card_of(here / "data_set")
    (files,) = head["configs"][0]["data_files"]
    lines = [json.loads(line) for line in (here / "data_set" / files["path"]).read_text().splitlines()]
    assert (
        head["license"] == "cc0-1.0"
        and head["size_categories"] == ["n<1K"]
        and "16 negotiations of 2 members" in text
        and len(lines) == 16
    )
    for line in lines:
        record = from_json(line["record"])
        assert replay(record).outcome is not None and line["seat_0"] in ("heuristic", "tough")
        assert len(re.findall(r"^ ?\d+\. seat_", line["transcript"], re.MULTILINE)) == len(record.actions)


def test_upload_needs_a_name_and_a_token(here, model):
    for words, named in (
        ((), "--dry-run"),
        (("--dry-run", "--to", "me/it"), "--to"),
        (("--to", "nowhere"), "OWNER/REPOSITORY"),
        (("--to", "me/it"), "HF_TOKEN"),
    ):
        done = in_process("push", model, "--sample", 1, *words)
        assert done.returncode == 2 and named in done.stderr
    assert not (here / "push").exists()


def test_refused_upload_hides_the_token(here, model, monkeypatch):
    """By a hub of our own, which repeats the token in its refusal."""
    requests = []

    class Hub(BaseHTTPRequestHandler):
        def do_POST(self):
            requests.append(self.headers["Authorization"])
            body = json.dumps({"error": f"no such user: {TOKEN}"}).encode()
            self.send_response(401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_): ...

    hub = HTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=hub.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    import huggingface_hub.hf_api

    monkeypatch.setattr(huggingface_hub.hf_api, "ENDPOINT", f"http://127.0.0.1:{hub.server_port}", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", f"http://127.0.0.1:{hub.server_port}")
    done = in_process("push", model, "--sample", 1, "--to", "me/it")
    hub.shutdown(), hub.server_close()
    assert requests == [f"Bearer {TOKEN}"]
    assert done.returncode == 1 and "not uploaded" in done.stderr and TOKEN not in done.stderr + done.stdout
    assert (here / "push" / "model" / "README.md").is_file()
