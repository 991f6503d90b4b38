"""The shipped expert is what its card says, and a missing one is reported, or replaced where the config says so."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
import torch

from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Cause
from league.evaluation.matches import heldout_terms, score
from partners.network.occupants import EXPERT
from partners.provenance import ancestry, identity
from partners.rosters import roster
from tests.command import experiment, in_process, played_league

CARD = json.loads(EXPERT.read_text())


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def test_expert_note_is_complete():
    assert EXPERT.with_suffix(".safetensors").stat().st_size < 1_000_000
    assert CARD["trained"]["settings"]["env"]["split"] == "train" and CARD["trained"]["decisions"] > 0
    for play in ("greedy", "sampled"):
        told = CARD["scores"][play]
        assert set(told) == {*roster("train"), *roster("dev"), "itself"}
        assert all(figures["low"] <= figures["points"] <= figures["high"] for figures in told.values())
        assert all(figures["n"] == 2 * 1977 for figures in told.values())


def test_its_card_is_true_and_it_earns_more_than_a_scripted_partner():
    for name in ("heuristic", "nash_seeker"):
        played = score(seat_occupant("expert"), seat_occupant(name), heldout_terms())
        assert played.points.mean == pytest.approx(CARD["scores"]["greedy"][name]["points"], abs=0.02)
        assert played.deals == pytest.approx(CARD["scores"]["greedy"][name]["deals"], abs=0.005)
    against = roster("dev")  # it has trained with none of them
    scripted = [score(seat_occupant("linear"), seat_occupant(name), heldout_terms()).points.mean for name in against]
    assert sum(CARD["scores"]["greedy"][name]["points"] for name in against) > sum(scripted)


def test_expert_trained_on_roster_train_only():
    past = ancestry("expert")
    assert set(past.opponents) >= {identity(member) for member in roster("train")} and not past.unknown
    assert not set(past.opponents) & {
        identity(member) for member in (*roster("dev"), *roster("dev2"), *roster("test2"))
    }
    assert CARD["met"] == sorted(past.opponents)


def test_a_missing_or_damaged_one_is_an_error_unless_a_fallback_is_named(tmp_path):
    missing, damaged = tmp_path / "none.json", tmp_path / "ppo.json"
    damaged.write_bytes(EXPERT.read_bytes())
    content = bytearray(EXPERT.with_suffix(".safetensors").read_bytes())
    content[1000] ^= 4
    damaged.with_suffix(".safetensors").write_bytes(content)
    for path, words in ((missing, "no such checkpoint"), (damaged, "damaged")):
        with pytest.raises(OccupantNameError, match=words):
            seat_occupant(f"expert(path='{path}')")
        standing_in = seat_occupant(f"expert(path='{path}', fallback=heuristic)")
        scenarios = open_source("lewis").draw(np.random.default_rng(0), 50)
        pairs = [(partner, seat_occupant("random")) for partner in (standing_in, seat_occupant("heuristic"))]
        fallback, greedy = (rollout(pair, scenarios, seed=1) for pair in pairs)
        assert (fallback.act == greedy.act).all() and (fallback.oA == greedy.oA).all()
        own = (fallback.act >= 0) & (np.arange(10) % 2 == 0)
        assert (fallback.cause[own] == Cause.MISSING).all() and not fallback.cause[~own].any()


def test_league_with_missing_expert(tmp_path):
    def league(member: str) -> subprocess.CompletedProcess[str]:
        config = tmp_path / "league.yaml"
        config.write_text(
            "env: {scenarios: lewis, max_turns: 2}\nleague: {rounds: 1, block_size: 8, evaluate: false}\n"
            f'members: [tough, "{member}"]\nlogging: {{output_dir: "{tmp_path / "runs"}"}}\n'
        )
        return in_process("league", "--config", config)

    done = league("expert(path=none.json)".replace("none.json", "'none.json'"))
    assert done.returncode == 2 and "checkpoint" in done.stderr and not (tmp_path / "runs").exists()
    done = league("expert(path='none.json', fallback=heuristic)")
    assert done.returncode == 0 and "checkpoint missing" in done.stdout, done.stderr


@pytest.mark.slow
def test_a_league_member_can_be_shipped(tmp_path):
    run = played_league(
        tmp_path,
        """
        env: {scenarios: lewis, split: train, max_turns: 2}
        league: {rounds: 1, block_size: 8, evaluate: false}
        members: [tough, heuristic]
        learners: [{name: main, decisions: 500, hidden: [16], num_envs: 4, rollout: 20}]
        logging: {output_dir: FOLDER}
        """,
    )
    assert experiment("expert", "--run", run, "--out", tmp_path / "mine.json") == 0
    assert seat_occupant(f"expert(path='{tmp_path / 'mine.json'}')").traits.learned
    card = json.loads((tmp_path / "mine.json").read_text())
    assert card["trained"]["decisions"] >= 500
    assert card["trained"]["settings"]["members"] == ["tough", "heuristic"]
    for scores in (card["scores"][play] for play in ("greedy", "sampled")):
        assert set(scores) == {*roster("train"), *roster("dev"), "itself"}
    assert experiment("expert", "--run", run, "--member", "nobody") == 2
