"""The comparison of style rewards: its figures by hand, its parts apart, and the whole command, tiny."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.errors import Notice
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from experiments.reward_model import EPOCHS, RewardModel, episode_tensors
from experiments.style_tables import style_rows
from experiments.styles import (
    FIGURES,
    Agreement,
    CountedReward,
    StylesConfig,
    Trial,
    all_trials,
    count_agreement,
    judge_spec,
    run_trial,
)
from league.evaluation.matches import heldout_terms
from league.settings.read import ConfigError, load_config
from partners.judges.episodes import LabelledGames, scripted_games, worked_episodes
from partners.judges.judge import JudgeReward, Verdict
from partners.judges.styles import Style, shows_style
from partners.learning.rewards import Own, reward_of
from tests.command import dond
from tests.loopback import Service, completion, without_proxy_and_key

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[2]
TINY = """
env: {scenarios: lewis, split: train, max_turns: 4, partner: tough}
comparison: {styles: [push_over, stubborn], seeds: SEEDS, episodes: 60}
training: {rollout: 2, num_envs: 32, minibatch: 64, epochs: 1, hidden: [8], num_train_steps: 100}
logging: {output_dir: "FOLDER"}
"""


def tiny(folder: Path, *overrides: str, seeds: int = 1) -> StylesConfig:
    path = folder / "styles.yaml"
    path.write_text(TINY.replace("SEEDS", str(seeds)).replace("FOLDER", str(folder / "runs")))
    return load_config(path, overrides, StylesConfig)


def command(folder: Path, *overrides: str, workers: int = 1, judges_only: bool = False, seeds: int = 1) -> int:
    tiny(folder, seeds=seeds)
    words = ["--config", folder / "styles.yaml", "--workers", workers, *["--judges-only"] * judges_only]
    return dond("experiment", "styles", *words, overrides=overrides)


def test_json_needs_judges_only(tmp_path, capsys):
    """A full comparison writes into its run's folder."""
    assert dond("experiment", "styles", "--json", tmp_path / "judges.json") == 2
    assert "--judges-only" in capsys.readouterr().err


def test_agreement_by_hand():
    messages = np.array([1, 1, 1, 0, 0, 0, 0, -1, -1], dtype=np.int8)
    so = np.array([True, True, False, True, False, False, False, True, False])
    found = count_agreement(messages, so)
    assert found == Agreement(yes_yes=2, yes_no=1, no_yes=1, no_no=3, unjudged=2)
    assert found.size == 7 and found.accuracy == pytest.approx(5 / 7) and found.majority == pytest.approx(4 / 7)
    chance = (3 * 3 + 4 * 4) / 49
    assert found.kappa == pytest.approx((5 / 7 - chance) / (1 - chance))
    assert found.plus(found) == Agreement(4, 2, 2, 6, 4) and found.plus(found).kappa == pytest.approx(found.kappa)


def test_agreement_at_its_ends():
    assert Agreement(5, 0, 0, 5).kappa == Agreement(5, 0, 0, 5).accuracy == 1
    assert Agreement(0, 5, 5, 0).kappa == -1
    assert Agreement(9, 1, 0, 0).kappa == 0, "always yes is right nine times of ten and knows nothing"
    for nothing_to_tell in (Agreement(), Agreement(unjudged=3), Agreement(4, 0, 0, 0)):
        assert math.isnan(nothing_to_tell.kappa)
    assert math.isnan(Agreement(unjudged=3).accuracy) and math.isnan(Agreement().majority)


@given(st.lists(st.tuples(st.sampled_from([-1, 0, 1]), st.booleans()), max_size=30))
def test_agreement_counts_and_range_of_kappa(pairs):
    messages = np.array([verdict for verdict, _ in pairs], dtype=np.int8)
    found = count_agreement(messages, np.array([label for _, label in pairs], dtype=bool))
    assert sum(found) == len(pairs) and found.unjudged == (messages == Verdict.NONE).sum()
    assert math.isnan(found.kappa) or -1 <= found.kappa <= found.accuracy


@pytest.mark.parametrize("style", Style)
def test_reward_model_fits_and_is_deterministic(style):
    shown = worked_episodes(style, 6, seed=1)
    model, same, other = (RewardModel(style, shown, seed) for seed in (1, 1, 2))
    assert (model.verdicts(shown.games, 0) == shown.labels).all() and 0 < model.epochs < EPOCHS
    games = scripted_games(5, 200)
    verdicts = model.verdicts(games, 1)
    assert (same.verdicts(games, 1) == verdicts).all() and (other.verdicts(games, 1) != verdicts).any()
    assert model.tally == Counter(yes=int(verdicts.sum()) + int(shown.labels.sum()), no=206 - int(verdicts.sum() + 3))


def test_reward_model_learns_a_style():
    games = scripted_games(7, 400)
    model = RewardModel(Style.PUSH_OVER, worked_episodes(Style.PUSH_OVER, 100), 0)
    assert count_agreement(model.verdicts(games, 0), shows_style(Style.PUSH_OVER, games)[:, 0]).kappa > 0.6


def test_episode_tensors_follow_the_seat():
    """A game and the same game with exchanged seats are one sequence, except for the first mover."""
    scenarios = open_source("lewis", split="train").block(1, 0, 30)
    games = rollout((seat_occupant("tough"), seat_occupant("random")), scenarios, Rules(6, "rejects"), seed=1)
    first, lengths = episode_tensors(games, 0)
    second, others = episode_tensors(games, 1)
    assert torch.equal(lengths, others) and lengths.tolist() == (games.turns + 2).tolist()
    assert first.shape == (30, 8, 24) and first.abs().max() <= 1
    kinds = first[:, :, :3].argmax(dim=2)
    for row in range(30):
        end = int(lengths[row]) - 1
        assert kinds[row, 0] == 0 and (kinds[row, 1:end] == 1).all() and kinds[row, end] == 2
        assert not first[row, end + 1 :].any()
    assert torch.equal(first[:, 0, 6:9], second[:, 0, 9:12]) and torch.equal(first[:, 0, 9:12], second[:, 0, 6:9])
    assert torch.equal(first[:, 1:, 12], -second[:, 1:, 12]), "whose act it is"
    assert torch.equal(first[:, :, 13:21], second[:, :, 13:21]), "what was said"
    ends = torch.arange(30), lengths - 1
    assert torch.equal(first[ends][:, [22, 23]], second[ends][:, [23, 22]]), "points change sides"
    assert torch.equal(first[ends][:, 21], torch.from_numpy(games.deal).float())


def test_verdicts_are_independent_of_the_batch():
    games, model = scripted_games(5, 100), RewardModel(Style.STUBBORN, worked_episodes(Style.STUBBORN, 6), 0)
    whole, order = model.verdicts(games, 0), np.arange(100)[::-1]
    assert (model.verdicts(games.rows(order), 0) == whole[order]).all()
    assert all(model.verdicts(games.rows(order[k : k + 1]), 0) == whole[order[k]] for k in range(20))


def test_contradicting_labels_take_all_epochs():
    shown = worked_episodes(Style.STUBBORN, 2)
    twice = LabelledGames(shown.games.rows(np.array([0, 0])), 0, np.array([True, False]))
    assert RewardModel(Style.STUBBORN, twice, 0).epochs == EPOCHS


def test_training_and_measurement_scenarios_are_disjoint(tmp_path):
    """The published code trains and evaluates on the same 250."""
    config = tiny(tmp_path)
    learned, measured = config.env.open_source().table, heldout_terms().scenarios
    keys = [
        {bytes(row) for row in np.concatenate([table.counts, table.utilities.reshape(-1, 6)], axis=1)}
        for table in (learned, measured, measured.swap_seats())
    ]
    assert not keys[0] & (keys[1] | keys[2]) and len(keys[1]) == measured.size
    for elsewhere in ("env.split=all", "env.split=paper_test", "env.scenarios=uniform"):
        with pytest.raises(ConfigError, match="must be scenarios: lewis, split: train, as figures are of its held-out"):
            tiny(tmp_path, elsewhere)


def test_all_trials(tmp_path):
    trials = all_trials(tiny(tmp_path, seeds=2))
    kinds = Counter((trial.source, trial.style) for trial in trials)
    assert set(kinds.values()) == {2} and len(kinds) == 1 + 3 * 2
    assert ("own", None) in kinds and ("supervised", Style.STUBBORN) in kinds


def test_trial_is_deterministic_and_counts_labels(tmp_path):
    config = tiny(tmp_path)
    results = {
        source: run_trial(Trial(config, source, Style.STUBBORN, 0)) for source in ("true", "judge", "supervised")
    }
    again = run_trial(Trial(config, "judge", Style.STUBBORN, 0))
    for name, weights in results["judge"].weights.items():
        assert (again.weights[name] == weights).all()
    assert (again.played.sums == results["judge"].played.sums).all() and again.practiced == results["judge"].practiced
    other = run_trial(Trial(config, "judge", Style.STUBBORN, 1))
    assert any((other.weights[name] != weights).any() for name, weights in again.weights.items())
    for source, result in results.items():
        assert result.practiced.size >= 64 and result.labelled.size == 2 * 60
        assert result.played.games.sum() == 2 * 1977
        assert (result.practiced.accuracy == 1) == (source == "true")
        assert result.decisions >= 100
    own = run_trial(Trial(config, "own", None, 0))
    assert own.practiced is own.labelled is None
    assert set(FIGURES) == {"points", "joint", "deals", "turns", "advantage", "diversity", "pareto", *map(str, Style)}
    played = own.played
    both = played.mean("points") + (played.mean("points") - played.mean("advantage"))
    assert both == pytest.approx(played.mean("joint")) and 0 <= played.mean("pareto") <= played.mean("deals")
    assert played.mean("diversity") <= 2, "a seat has two of the four turns"
    assert own.played.mean("joint") >= own.played.mean("points") >= 0


def test_counted_reward_is_transparent():
    class Silent:
        style, tally = Style.STUBBORN, Counter()

        def verdicts(self, games, seat):
            messages = shows_style(Style.STUBBORN, games)[:, seat].astype(np.int8)
            return np.where(np.arange(games.size) % 3 == 0, Verdict.NONE, messages).astype(np.int8)

    games = scripted_games(3, 90)
    earned = np.zeros((90, 2))
    reward = JudgeReward(Silent())
    watched = CountedReward(reward, Style.STUBBORN)
    assert (watched(games, earned, games.scenarios) == reward(games, earned, games.scenarios)).all()
    assert watched.agreement.unjudged == 60 and watched.agreement.accuracy == 1 and watched.agreement.size == 120
    assert CountedReward(Own(), Style.STUBBORN).for_seat(0)(games, earned, games.scenarios) is earned


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("comparison.styles=[stubborn, mean]", "must be a list of styles out of versatile, push_over, competitive"),
        ("comparison.styles=[]", "must be a list of styles"),
        ("comparison.judge=own", "must be local_judge or llm_judge|does not take"),
        ("comparison.judge=svo(45)", "a judge|does not take|written"),
        ("comparison.judge=locl_judge", "did you mean 'local_judge'"),
        ("comparison.judge=local_judge(examples=5)", "a judge's examples is set by the comparison"),
        ("comparison.judge=llm_judge(cache_mode=replay)", "cache_mode must be off, or record or replay with a cache"),
        ("comparison.examples=1", "an integer in 2..20"),
        ("comparison.workers=3", "unknown key"),
        ("training.reward=svo(45)", "the comparison sets each learner's reward"),
    ],
)
def test_invalid_settings_name_their_key(tmp_path, override, message):
    with pytest.raises(ConfigError, match=message) as error:
        tiny(tmp_path, override)
    assert str(error.value).startswith(f"--set {override[:9]}") and "\n" not in str(error.value)


def test_judge_spec_has_the_style():
    spec = judge_spec("llm_judge(model='a/b', max_usd=1.0, prompt_price=1, completion_price=2)", Style.PUSH_OVER, 4, 2)
    judge = reward_of(spec).judge
    assert (judge.style, judge.examples, judge.seed) == (Style.PUSH_OVER, 4, 2)


def test_shipped_configuration():
    config = load_config(ROOT / "experiments" / "configs" / "styles.yaml", (), StylesConfig)
    assert config.comparison.styles == tuple(Style) and config.env.split == "train"
    assert len(all_trials(config)) == 5 * (1 + 4 * 3)  # own points, and each style by itself, a reward model and rules


def test_command_writes_figures_and_checkpoints(tmp_path, capsys):
    assert command(tmp_path) == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"^\d/7 ", out, re.M)) == 7
    (run_folder,) = (tmp_path / "runs").iterdir()
    written = json.loads((run_folder / "figures.json").read_text())
    assert [(row["style"], row["reward"]) for row in written["learners"]] == [
        (style, source) for style in ("push_over", "stubborn") for source in ("own", "true", "supervised", "rules")
    ]
    assert all(0 <= row["rate"]["mean"] <= 1 and row["rate"]["n"] == 2 * 1977 for row in written["learners"])
    assert written["learners"][1]["labels_in_practice"]["accuracy"] == 1
    assert [row["labels"]["unjudged"] for row in written["judges"]] == [0] * 4
    stored = run_folder / "checkpoints" / "stubborn_rules_0.json"
    assert json.loads(stored.read_text())["reward"] == "rules: stubborn"
    assert seat_occupant(f"checkpoint(path='{stored}')").traits.learned
    assert load_config(run_folder / "config.yaml", (), StylesConfig) == tiny(tmp_path)


@pytest.fixture
def model(monkeypatch):
    """A service whose model finds repeated offers, and says so whatever it is asked."""
    without_proxy_and_key(monkeypatch)

    def answer(heard, _number):
        last = heard.prompt.rsplit("\nEpisode ", 1)[1]
        offers = re.findall(r"^Alice: \w+: (I keep .*)$", last, re.M)
        return completion("Yes." if len(set(offers)) < len(offers) else "No.", usage=(500, 2))

    service = Service(answer)
    yield service
    service.close()


def test_language_model_judge_and_its_cost(tmp_path, capsys, model):
    spec = f"llm_judge(provider=openai, model=m, base_url='{model.url}', prompt_price=2.0, completion_price=4.0)"
    overrides = (f'comparison.judge="{spec}"', "comparison.styles=[stubborn]")
    assert command(tmp_path, *overrides, judges_only=True) == 0
    out = capsys.readouterr().out
    line = next(line for line in out.splitlines() if "stubborn" in line and "language model" in line)
    requests = len(model.heard)
    cost = f"{requests}, {502 * requests:,}, ${requests * (500 * 2 + 2 * 4) / 1e6:.4f}"
    assert "100.0%" in line and "1.00" in line and cost in line
    assert not (tmp_path / "runs").exists(), "nothing was learned"
    reward_of(judge_spec(spec, Style.STUBBORN, 3, 0)).judge.close()


def test_missing_key_and_expert(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    assert command(tmp_path, "comparison.judge=llm_judge", judges_only=True) == 1
    assert "GROQ_API_KEY" in capsys.readouterr().err
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    overrides = ("env.partner=expert(kind=supervised)", "comparison.styles=[stubborn]")
    assert command(tmp_path, *overrides, judges_only=True) in (1, 2)
    assert capsys.readouterr().err.count("\n") == 1


def test_fallback_partner(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    named = "env.partner=expert(kind=supervised, fallback=tough)"
    with pytest.warns(Notice, match=r"^expert\(.*\): no such checkpoint here, so tough is the partner$"):
        assert command(tmp_path, named, "comparison.styles=[stubborn]") == 0
    assert (
        "against tough," in capsys.readouterr().out
        and "partner: tough" in next(tmp_path.rglob("config.yaml")).read_text()
    )


def test_init_from(tmp_path, capsys):
    start = "training.init_from=expert"
    config = tiny(
        tmp_path,
        start,
        "env.partner=heuristic",
        "env.max_turns=10",
        "training.hidden=[256, 256]",
        "training.sorted_items=true",
        "training.num_train_steps=1",
    )
    before = run_trial(Trial(config, "own", None, 0))
    assert before.played.mean("deals") > 0.7, "it plays like the expert that it starts as"
    assert command(tmp_path, "training.init_from=gone.json", "comparison.styles=[stubborn]") == 2
    assert "gone.json" in capsys.readouterr().err


@pytest.mark.slow
def test_workers_do_not_change_figures(tmp_path):
    written = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        folder.mkdir()
        assert command(folder, workers=workers, seeds=2) == 0
        figures = json.loads((folder / "runs" / "0001" / "figures.json").read_text())
        del figures["seconds"], figures["settings"]["logging"]
        for row in figures["judges"]:
            del row["seconds"]
        written.append(figures)
    assert written[0] == written[1]


@pytest.mark.slow
def test_order_of_rewards(tmp_path):
    """Learners of a style show it; a judge of a few episodes teaches more of it than a reward model of the same few."""
    path = tmp_path / "styles.yaml"
    path.write_text((ROOT / "experiments" / "configs" / "styles.yaml").read_text())
    shorter = ("training.num_train_steps=100000", "comparison.styles=[versatile, stubborn]", "comparison.seeds=2")
    config = load_config(path, (*shorter, "env.partner=heuristic"), StylesConfig)
    found = {
        (row.style, row.source): row.played[row.style].mean
        for row in style_rows(config, [run_trial(trial) for trial in all_trials(config)])
    }
    for style in (Style.VERSATILE, Style.STUBBORN):
        assert found[style, "true"] > max(0.85, found[style, "own"] + 0.3)
        assert found[style, "rules"] > found[style, "supervised"]
