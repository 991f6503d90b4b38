"""Hints of a language model in training: delivery, secrecy, failures, dropout."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from dond_marl.batch import GameBatch
from dond_marl.occupants import Spec
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Traits, Turns, decide
from hints import ExpertHinter, HintSchedule
from league.play.hinters import (
    describe_hints,
    hint_provider,
    hint_schedule,
    league_hint_schedule,
    llm_spec,
    no_hint_warning,
)
from league.settings.read import ConfigError, dump, load_config, parse
from league.settings.sections import HintsConfig
from league.settings.training import TrainConfig
from league.training.training import begin
from partners.llm.local.model import SMALL_MODEL, model_path
from partners.llm.partner import LLMPartner
from partners.scripted.heuristic import Heuristic
from tests.command import dond, train_command
from tests.loopback import Page, completion
from tests.partners.llm.test_partner import Model, first_legal

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "configs" / "ppo_config.yaml"
SCENARIOS = open_source("lewis").block(0, 0, 30)
KEY = "gsk_sentinel_of_a_test"


@pytest.fixture
def model() -> Path:
    """The folder of the small model, named as any other folder."""
    return model_path(SMALL_MODEL)


def overrides(tmp_path: Path, *more: str, steps: int = 300) -> list[str]:
    """Settings of a tiny run, and ``more``, which go before."""
    small = {"rollout": 10, "num_envs": 4, "minibatch": 16, "epochs": 1, "hidden": "[8]", "num_train_steps": steps}
    told = {
        "hints.mode": "llm",
        "logging.output_dir": tmp_path / "runs",
        "logging.tensorboard": "false",
        "env.max_turns": 3,
    }
    told |= {f"training.{key}": value for key, value in small.items()} | dict(one.split("=", 1) for one in more)
    return [f"{key}={value}" for key, value in told.items()]


def train(tmp_path: Path, *more: str) -> int:
    return train_command(CONFIG, overrides(tmp_path, *more), None)


# ---------------------------------------------------------------- training


@pytest.mark.slow
def test_training_with_hints_of_a_local_model(tmp_path, model, capsys):
    assert train(tmp_path, "hints.provider=hf", f"hints.models.hf={model}") == 0
    shown = capsys.readouterr()
    assert str(model) in shown.out
    assert "available (100.0%)" in shown.out and "PRIVILEGED" not in shown.out and not shown.err
    with (tmp_path / "runs" / "0001" / "progress.csv").open() as file:
        assert {row["hints_available"] for row in csv.DictReader(file)} == {"1"}


@pytest.mark.slow
def test_hinted_run_is_deterministic_and_resumable(tmp_path, model):
    more = ("hints.provider=hf", f"hints.models.hf={model}", "hints.dropout=0.3", "hints.cadence_k=2")
    weights = []
    for _ in range(2):
        assert train(tmp_path, *more, "logging.save_every=60", "training.num_train_steps=120") == 0
    runs = [sorted((tmp_path / "runs" / name / "checkpoints").glob("*.safetensors")) for name in ("0001", "0002")]
    weights = [[path.read_bytes() for path in run] for run in runs]
    assert len(weights[0]) > 1 and weights[0] == weights[1]
    for path in sorted((tmp_path / "runs" / "0002" / "checkpoints").iterdir())[-2:]:
        path.unlink()  # its last checkpoint
    assert train_command(None, [], tmp_path / "runs" / "0002") == 2  # the run names a model
    assert dond("train", "--resume", tmp_path / "runs" / "0002", "--trust") == 0
    assert [path.read_bytes() for path in runs[1]] == weights[0]


def test_setup_error_stops_the_run(services, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("A_KEY", KEY)
    service = services(Page(401))
    options = f"hints.options={{base_url: '{service.url}', key_env: A_KEY, in_flight: 1}}"
    assert train(tmp_path, "hints.provider=openai", "hints.models.openai=m", options) == 1
    assert len(service.heard) == 1
    shown = capfd.readouterr()
    assert "(401)" in shown.err and len(shown.err.splitlines()) == 1
    assert KEY not in shown.out + shown.err
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_missing_key_or_model_is_found_before_the_run(tmp_path, monkeypatch, capfd):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    assert train(tmp_path, "hints.provider=groq") == 1
    assert "$GROQ_API_KEY" in capfd.readouterr().err
    assert train(tmp_path, "hints.provider=hf", "hints.models.hf=/nowhere") == 1
    assert "/nowhere" in capfd.readouterr().err
    assert train(tmp_path, "hints.provider=hf", "hints.prompt_path=nowhere.txt") == 2
    assert not (tmp_path / "runs" / "0002").exists()


def test_warning_if_all_hints_fail(services, tmp_path, capsys):
    """Prose until the budget of 20 requests is spent, and then nothing: three kinds of failure, each counted."""
    service = services(completion("I would ask for the hats."))
    options = f"hints.options={{base_url: '{service.url}', re_asks: 0}}"
    more = ("hints.provider=openai", "hints.models.openai=m", "hints.max_requests=20", options)
    assert train(tmp_path, *more) == 0
    assert len(service.heard) == 20
    out = capsys.readouterr().out
    assert "unparsable" in out and "budget" in out and "0 available (0.0%)" in out
    assert out.count("NO HINT") >= 2, "after the first update, and at the end"


def test_no_warning_if_any_hint_arrives():
    assert no_hint_warning(Counter(asked=10, available=1, illegal=9)) is None and no_hint_warning(Counter()) is None


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (["hints.mode=expert", "hints.privileged=true"], "hints.privileged"),
        (["hints.provider=openai"], "hints.provider: provider openai needs options"),
        (["hints.options={modle: x}"], "'llm' does not take 'modle'"),
    ],
)
def test_invalid_settings_are_refused(changes, reason):
    with pytest.raises(ConfigError, match=reason):
        load_config(CONFIG, overrides(Path("unused"), *changes), TrainConfig)


def test_settings_name_the_hinter(monkeypatch):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    hints = HintsConfig(mode="llm", options={"history_cap": 4, "temperature": 0.5})
    asked = {"model": None, "prompt_path": None, "max_requests": 10_000, **hints.options}
    assert llm_spec(hints) == Spec("llm", {**asked, "provider": "hf"})
    assert describe_hints(hints) == "llm (hf: the small model of this package), every 1"
    partner = hint_provider(hints).partner
    assert isinstance(partner, LLMPartner) and partner.history_cap == 4
    monkeypatch.setenv("GROQ_API_KEY", KEY)
    assert llm_spec(hints) == Spec("llm", {**asked, "provider": "groq", "model": "openai/gpt-oss-20b"})
    assert describe_hints(hints) == "llm (groq: openai/gpt-oss-20b), every 1"
    config = TrainConfig(hints=hints)
    assert parse(dump(config), "again", TrainConfig) == config and KEY not in dump(config)


# ---------------------------------------------------------------- what a hint may know


class Looks:
    """A partner that stores the turns of its queries."""

    traits = Traits(deterministic=True)

    def __init__(self) -> None:
        self.turns: list[Turns] = []

    def act(self, turns):
        self.turns.append(turns)
        return decide(np.zeros(turns.size), turns.counts)


def prompts(scenarios: Scenarios, privileged: bool) -> list[str]:
    """All prompts of a hinting model in games of these scenarios, for both seats."""
    model = Model(first_legal)
    schedule = HintSchedule(ExpertHinter(LLMPartner(model)), privileged=privileged)
    for seat in (0, 1):
        whispers = (schedule, None) if seat == 0 else (None, schedule)
        rollout((Looks(), Looks()), scenarios, seed=0, hints=whispers)
    return [ask.prompt for ask in model.asked]


def test_hints_depend_on_partner_values_only_if_privileged():
    changed = SCENARIOS.utilities.copy()
    changed[:, 1] = changed[::-1, 1]
    other = Scenarios(SCENARIOS.counts, changed, SCENARIOS.prior)
    openings = slice(0, 1)
    assert prompts(SCENARIOS, False)[openings] == prompts(other, False)[openings]
    assert all("The partner's values: hidden" in prompt for prompt in prompts(SCENARIOS, False))
    told = prompts(SCENARIOS, True)
    values = ",".join(map(str, SCENARIOS.utilities[0, 1].tolist()))
    assert f"The partner's values: {values}\n" in told[0]
    assert not any("hidden" in prompt for prompt in told)


def test_seat_does_not_see_privileged_values():
    seat, hinter = Looks(), Looks()
    schedule = HintSchedule(ExpertHinter(hinter), privileged=True)
    rollout((seat, Heuristic()), SCENARIOS, seed=0, hints=(schedule, None))
    assert not any(turns.partner_utilities.any() for turns in seat.turns)
    assert (hinter.turns[0].partner_utilities == SCENARIOS.utilities[:, 1]).all()


def test_reports_of_privileged_runs_are_marked(tmp_path, model, capsys):
    more = ("hints.provider=hf", f"hints.models.hf={model}", "hints.privileged=true", "training.num_train_steps=40")
    assert train(tmp_path, *more) == 0
    assert capsys.readouterr().out.count("PRIVILEGED") >= 3  # at the start, with the score, with the hints in practice


# ---------------------------------------------------------------- withheld hints


def test_withheld_hints_are_counted_and_not_queried():
    table = GameBatch(open_source("lewis").block(0, 0, 2000))
    noise = np.random.Generator(np.random.SFC64(0)).random((2000, 8))
    turns = table.turns(noise, noise)
    hinter = Looks()
    schedule = HintSchedule(ExpertHinter(hinter), dropout=0.25)
    features = schedule.hint_features(turns)
    assert not schedule.deterministic
    told = features[:, 9] == 1
    assert schedule.tally == Counter(asked=int(told.sum()), available=int(told.sum()), withheld=int((~told).sum()))
    assert abs(told.mean() - 0.75) < 0.04
    assert hinter.turns[0].size == told.sum() and not features[~told].any()
    all_features = HintSchedule(ExpertHinter(Looks())).hint_features(turns)
    assert (features[told] == all_features[told]).all(), "the others are what they would have been"


def test_hints_are_withheld_only_in_training():
    hints = HintsConfig(mode="llm", provider="groq", dropout=0.5, cadence_k=3, privileged=True)
    schedule = hint_schedule(hints)
    measured = schedule.without_dropout()
    assert schedule.dropout == 0.5 and (measured.dropout, measured.cadence_k, measured.privileged) == (0, 3, True)
    assert measured.hinter is schedule.hinter, "what it spent and what it remembers stay with it"
    config = load_config(CONFIG, overrides(Path("unused"), "hints.mode=random", "hints.dropout=0.5"), TrainConfig)
    training = begin(config)
    training.step()
    tally = training.hints.tally
    assert 0.3 < tally["withheld"] / (tally["withheld"] + tally["asked"]) < 0.7


def test_practices_in_one_process_share_model_and_budget():
    told = {"mode": "llm", "provider": "groq", "max_requests": 7, "options": {"max_seconds": 9.0}}
    first, second = (league_hint_schedule(HintsConfig(**told, cadence_k=k, dropout=k / 10)) for k in (1, 2))
    assert first.hinter.partner is second.hinter.partner and first.tally is not second.tally
    assert (second.cadence_k, second.dropout) == (2, 0.2)
    assert league_hint_schedule(HintsConfig(**{**told, "max_requests": 8})).hinter.partner is not first.hinter.partner
    asked = [league_hint_schedule(HintsConfig(mode="expert", expert="llm(provider=groq)")) for _ in range(2)]
    assert asked[0].hinter.partner is asked[1].hinter.partner, "an expert that is a language model has a budget too"
    free = [league_hint_schedule(HintsConfig(mode="random")) for _ in range(2)]
    assert free[0].hinter is not free[1].hinter and league_hint_schedule(HintsConfig()) is None
