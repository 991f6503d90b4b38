"""Opponents of learners, from the settings to every file that training writes, and from file to file after that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from dond_marl.occupants import parse_spec
from league.bench.run import provenance, submission_of_spec
from league.ledger.ledger import Ledger
from league.ledger.run_directory import RunError
from league.ledger.verify import refuse_other_occupants
from league.play.blobs import read_blob
from league.play.provenance import (
    league_ancestries,
    learner_identity,
    occupants_of,
    training_ancestry,
)
from league.settings.read import Config, load_config
from league.settings.training import TrainConfig
from partners.llm.occupant import CARD
from partners.network.checkpoint import load_checkpoint, save_checkpoint
from partners.provenance import (
    ITSELF,
    KEYS,
    NO_PAST,
    Ancestry,
    ProvenanceError,
    ancestry,
    held_out_sources,
    identity,
    provenance_of,
    read_past,
    refuse_test_roster,
    roster_test_members,
)
from partners.rosters import DEV2, roster
from tests.command import dond, in_process

ROOT = Path(__file__).resolve().parents[3]
CONFIGS = sorted(path for path in (ROOT / "configs").glob("*.yaml") if path.stem != "study")
LEAGUE = """
env: {scenarios: lewis, split: train, max_turns: 4}
league: {seed: 3, rounds: 2, block_size: 8, evaluate: false}
members: [MEMBERS]
gate: [pushover]
heldout: [stubborn]
training: {hidden: [8], rollout: 2, num_envs: 8, minibatch: 16, epochs: 1}
learners:
  - {name: main, decisions: 40, snapshot_every: 1}
  - {name: other, decisions: 40, snapshot_every: 0BEGINNING}
stages:
  - {name: whispers, rounds: 1, learners: {other: {hints: {mode: expert, expert: linear}}}}
  - {name: league}
logging: {output_dir: "FOLDER", tensorboard: false}
"""
TRAINING = """
env: {scenarios: lewis, split: train, max_turns: 4, partner: "PARTNER"}
training: {rollout: 2, num_envs: 8, minibatch: 16, epochs: 1, hidden: [8], num_train_steps: STEPS}
logging: {output_dir: "FOLDER", tensorboard: false, save_every: 40}
"""


HELD_OUT, UNIFORM = "scenarios of lewis, split all", "scenarios of uniform"


def league(folder: Path, members: str = "heuristic, random", beginning: str = "") -> Path:
    """The settings of a small league that keeps its runs in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    written = LEAGUE.replace("MEMBERS", members).replace("BEGINNING", beginning).replace("FOLDER", str(folder))
    (folder / "league.yaml").write_text(written)
    return folder / "league.yaml"


def training(folder: Path, partner: str, steps: int = 40) -> Path:
    """The settings of a small training that keeps its runs in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    written = TRAINING.replace("PARTNER", partner).replace("STEPS", str(steps)).replace("FOLDER", str(folder))
    (folder / "training.yaml").write_text(written)
    return folder / "training.yaml"


def member_of_test() -> str:
    return roster(DEV2)[0]


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> Path:
    """The run folder of a small league."""
    folder = tmp_path_factory.mktemp("played")
    assert dond("league", "--config", league(folder), "--quiet") == 0
    return folder / "0001"


@pytest.fixture(scope="module")
def snapshot(played, tmp_path_factory) -> str:
    """A snapshot of that league's main, as a checkpoint."""
    path = tmp_path_factory.mktemp("snapshot") / "main.json"
    assert dond("export", played, "--to", "checkpoint", "--member", "main@1", "--out", path) == 0
    return f"checkpoint(path={str(path)!r})"


# ---------------------------------------------------------------- what ships


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_no_learner_of_a_shipped_config_meets_the_test_roster(path):
    for name, past in _pasts(path).items():
        refuse_test_roster(past, name)
        assert held_out_sources(past) == [], name


def test_shipped_weights_note_their_opponents_and_none_of_the_test_roster():
    for artefact in ("expert", "llm(provider=hf)"):
        past = ancestry(artefact)
        refuse_test_roster(past, artefact)
        assert past.unknown == () and len(past.opponents) > 10 and held_out_sources(past) == []


def _pasts(path: Path) -> dict[str, Ancestry]:
    """The provenance of every learner of a config."""
    if "league" not in yaml.safe_load(path.read_text(encoding="utf-8")):
        return {"the learner": training_ancestry(load_config(path, (), TrainConfig))}
    league = load_config(path)
    pasts = league_ancestries(league)
    met = {identity(member.spec) for member in (*league.members, *league.gate)}
    assert all(met <= set(past.opponents) for past in pasts.values())
    return pasts


# ---------------------------------------------------------------- from settings to files


def test_a_learner_of_a_league_has_met_all_of_it_but_those_held_out(played):
    config = load_config(played.parent / "league.yaml")
    main, other = (learner_identity(config, name) for name in ("main", "other"))
    fixed = {identity(spec) for spec in ("heuristic", "random", "pushover", "linear")}
    with Ledger(played / "ledger.sqlite") as ledger:
        blobs = {name: state.blob for name, state in [*ledger.states().items(), *ledger.states(-1).items()]}
        blobs |= {member.name: member.blob for member in ledger.members() if member.blob}
    notes = {name: read_blob(played / "blobs", blob).about for name, blob in blobs.items()}
    assert {name: set(notes[name]["met"]) for name in ("main", "main@1", "other")} == {
        "main": fixed | {other}, "main@1": fixed | {other}, "other": fixed | {main}
    }  # fmt: skip
    assert read_past(notes["main"]).path(identity("linear")) == (
        other,
        identity("linear"),
    )  # who whispered to the other
    assert read_past(notes["main"]) == league_ancestries(config)["main"]


@pytest.mark.parametrize("name", ["nobody", "heuristic"])
def test_only_a_learner_or_a_snapshot_is_exported_as_a_checkpoint(played, tmp_path, name):
    target = tmp_path / "a.json"
    refused = in_process("export", played, "--to", "checkpoint", "--member", name, "--out", target)
    assert refused.returncode == 2 and not target.exists()
    assert name in refused.stderr and "main, other, main@1" in refused.stderr


def test_a_training_notes_its_partner_and_what_it_began_as(snapshot, tmp_path):
    settings = training(tmp_path, "mixture(of=['nice', 'linear'])")
    assert (
        dond("train", "--config", settings, "--set", f"training.init_from={snapshot}", "--hint", "random", "--quiet")
        == 0
    )
    (path,) = (tmp_path / "0001" / "checkpoints").glob("*.json")
    past = ancestry(f"checkpoint(path={str(path)!r})")
    assert identity(snapshot) in past.descends_from and past.unknown == ()
    assert {identity("nice"), identity("mixture(of=['nice', 'linear'])"), *ancestry(snapshot).opponents} < set(
        past.opponents
    )


def test_a_training_that_goes_on_from_an_older_checkpoint_has_an_unknown_past(tmp_path):
    assert dond("train", "--config", training(tmp_path, "nice"), "--quiet") == 0
    (path,) = (tmp_path / "0001" / "checkpoints").glob("*.json")
    weights = load_checkpoint(path)
    save_checkpoint(path, weights.tensors, {key: value for key, value in weights.about.items() if key not in KEYS})
    settings = tmp_path / "0001" / "config.yaml"
    settings.write_text(settings.read_text().replace("num_train_steps: 40", "num_train_steps: 120"))
    assert dond("train", "--resume", tmp_path / "0001", "--quiet") == 0
    last = max((tmp_path / "0001" / "checkpoints").glob("*.json"))
    past = ancestry(f"checkpoint(path={str(last)!r})")
    assert last != path and past.unknown == (ITSELF,) and identity("nice") in past.opponents


def test_practice_on_held_out_views_is_noted_by_the_learner_and_its_later_partners(tmp_path):
    settings = training(tmp_path, "nice")
    assert dond("train", "--config", settings, "--set", "env.split=all", "--quiet") == 0
    (path,) = (tmp_path / "0001" / "checkpoints").glob("*.json")
    pupil = f"checkpoint(path={str(path)!r})"
    assert held_out_sources(ancestry(pupil)) == [HELD_OUT]
    line = provenance(submission_of_spec(pupil, "pupil"), ["linear"])
    assert line.startswith("known: 2") and HELD_OUT in line
    member = json.dumps({"kind": "checkpoint", "path": str(path), "name": "pupil"})
    config = load_config(league(tmp_path / "league", member))
    assert all(held_out_sources(past) == [HELD_OUT] for past in league_ancestries(config).values())
    assert provenance(submission_of_spec("linear"), ["linear"]).startswith("known: 0")


def test_one_stage_of_a_league_on_other_scenarios_is_noted(tmp_path):
    written = league(tmp_path)
    assert not any(map(held_out_sources, league_ancestries(load_config(written)).values()))
    config = load_config(written, ["stages=[{name: wide, rounds: 1, env: {scenarios: uniform}}, {name: league}]"])
    assert [held_out_sources(past) for past in league_ancestries(config).values()] == [[UNIFORM]] * 2


# ---------------------------------------------------------------- from file to file


def test_card_of_a_language_model_gives_its_past(snapshot, tmp_path):
    taught = NO_PAST.add_parent(provenance_of(snapshot)).add_opponents([provenance_of("nice")])
    (tmp_path / "student").mkdir()
    (tmp_path / "student" / CARD).write_text(json.dumps({"name": "abc", **taught.note()}))
    student = f"llm(provider=hf, model={str(tmp_path / 'student')!r})"
    past = ancestry(student)
    assert past.unknown == () and identity(snapshot) in past.descends_from
    assert {identity(spec) for spec in ("nice", "heuristic", "random", "pushover", "linear")} < set(past.opponents)
    assert str(tmp_path) not in identity(student) and str(tmp_path) not in json.dumps(past.note())
    # The league's main, its snapshot, the student: whoever meets the student has met whom the main met.
    with pytest.raises(ProvenanceError, match=r"main <- llm <- checkpoint \w{12} <- main <- pushover, which"):
        refuse_test_roster(Ancestry({}).add_opponents([provenance_of(student)]), "main", ["pushover"])
    assert roster_test_members(past, ["stubborn"]) == []


# ---------------------------------------------------------------- what is refused, before anything is written


def test_a_training_that_would_meet_the_test_roster_is_refused(tmp_path):
    for partner in (member_of_test(), f"mixture(of=['nice', {member_of_test()!r}])"):
        settings = training(tmp_path, "nice")
        refused = in_process("train", "--config", settings, "--set", f"env.partner={partner}")
        assert refused.returncode == 2 and member_of_test() in refused.stderr
        assert "the learner <- " in refused.stderr and sorted(tmp_path.iterdir()) == [settings]


def test_a_league_that_would_meet_the_test_roster_is_refused_whichever_way_leads_there(tmp_path):
    member = member_of_test()
    ways = {
        "members": league(tmp_path / "members", f"nice, {json.dumps(member)}"),
        "gate": league(tmp_path / "gate"),
        "hinter": league(tmp_path / "hinter"),
        "inside": league(tmp_path / "inside", json.dumps(f"best_response(to={member!r})")),
    }
    ways["gate"].write_text(ways["gate"].read_text().replace("gate: [pushover]", f"gate: [{json.dumps(member)}]"))
    ways["hinter"].write_text(ways["hinter"].read_text().replace("expert: linear", f"expert: {json.dumps(member)}"))
    for way, settings in ways.items():
        refused = in_process("league", "--config", settings)
        assert refused.returncode == 2 and "roster dev2" in refused.stderr, way
        assert ("main <- " in refused.stderr) == (way in ("hinter", "inside")), (
            way
        )  # the others are named with their line
        assert list(settings.parent.iterdir()) == [settings], way


def test_first_weights_whose_ancestor_met_the_test_roster_are_refused(snapshot, tmp_path):
    weights = load_checkpoint(Path(parse_spec(snapshot).parameters["path"]))
    tainted = read_past(weights.about).add_opponents([provenance_of(member_of_test())])
    save_checkpoint(tmp_path / "tainted.json", weights.tensors, {**weights.about, **tainted.note()})
    teacher = f"checkpoint(path={str(tmp_path / 'tainted.json')!r})"
    beginning = f", init_from: {json.dumps(teacher)}"
    refused = in_process("league", "--config", league(tmp_path / "runs", beginning=beginning))
    assert refused.returncode == 2 and "main <- other <- checkpoint" in refused.stderr


HINTED = "members: [heuristic]\nlearners: [{name: main}]\nstages: [{name: all, hints: {mode: llm}}]\n"


@pytest.mark.parametrize("hinted", ["training", "league"])
def test_another_provider_of_hints_is_refused_on_resume(tmp_path, monkeypatch, hinted):
    path = tmp_path / "settings.yaml"
    path.write_text("hints: {mode: llm}\n" if hinted == "training" else HINTED)
    config = load_config(path, (), TrainConfig if hinted == "training" else Config)
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    local = occupants_of(config)
    refuse_other_occupants(path, local, local)
    monkeypatch.setenv("GROQ_API_KEY", "none")
    with pytest.raises(RunError, match="the hints"):
        refuse_other_occupants(path, local, occupants_of(config))
