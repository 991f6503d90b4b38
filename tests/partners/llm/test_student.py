"""The project's own model: lessons, tokenizer, training, building and caching."""

from __future__ import annotations

import logging
import multiprocessing
from pathlib import Path

import numpy as np
import pytest
import torch

from dond_marl.batch import GameBatch
from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from experiments.distill import DistillConfig, measure_imitation
from league.settings.read import ConfigError, load_config
from partners.llm.client import SetupError
from partners.llm.distill import (
    Lesson,
    distill,
    lessons,
    new_student,
    own_model_folder,
    prompt_tokenizer,
    train_student,
)
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.occupant import llm
from partners.llm.partner import LocalLLMPartner
from partners.llm.prompt import Template, load_template
from partners.llm.reply import Legal, LegalReply, read_reply
from partners.llm.service import resolve_provider
from partners.llm.student import (
    CARD,
    ITSELF,
    LessonGames,
    Recipe,
    StudentSettings,
    is_complete,
    read_card,
)
from partners.scripted.heuristic import Heuristic
from tests.command import dond

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[3]
TEMPLATE = load_template()
SMALL = StudentSettings(width=16, layers=1, heads=2, inner=16, steps=4, batch=8)
TINY = Recipe(teacher="heuristic", games=(LessonGames("random", 0.1, number=20),), student=SMALL)
PLAYED = (LessonGames("heuristic", 0.0, number=30), LessonGames(ITSELF, 0.5, number=30))


def shown(teacher: str = "heuristic", played=PLAYED, cap: int = 20) -> list[Lesson]:
    return lessons(teacher, played, TEMPLATE, history_cap=cap, rules=Rules(), seed=0)


# ---------------------------------------------------------------- lessons


@pytest.mark.parametrize("teacher", ["heuristic", "expert"])
def test_lesson_is_the_teachers_reply(teacher):
    """The openings of the scenarios played: prompts and replies, told apart from strays."""
    source = open_source("lewis", split="train")
    turns = GameBatch(source.block(0, 0, 30)).turns()
    said = seat_occupant(teacher).act(turns)
    told = {lesson.prompt: lesson for lesson in shown(teacher)}
    for row, prompt in enumerate(TEMPLATE.render(turns)):
        read = read_reply(told[prompt].reply, Legal(tuple(turns.counts[row].tolist()), (0, 1, 3, 4)))
        assert isinstance(read, LegalReply)
        assert read.action.act_type == said.act_type[row]
        assert read.action.act_type > Act.INSIST or read.action.oA == tuple(said.oA[row].tolist())
        assert told[prompt].decides == (4 if said.act_type[row] <= Act.INSIST else 1)


def test_straying_reaches_other_positions():
    straight = {lesson.prompt for lesson in shown(played=(LessonGames(ITSELF, 0.0, number=30),))}
    strayed = {lesson.prompt for lesson in shown(played=(LessonGames(ITSELF, 0.5, number=30),))}
    assert len(strayed - straight) > 10


def test_lessons_are_unique_and_not_held_out():
    told = shown()
    assert len({lesson.prompt for lesson in told}) == len(told)
    assert all(games.split == "train" for games in Recipe().games if games.scenarios == "lewis")


def test_lesson_history_cap():
    assert not any("1. you" in lesson.prompt or "1. partner" in lesson.prompt for lesson in shown(cap=0))
    assert Recipe(teacher="expert").prompt_history() == 0, "its teacher has no memory"
    assert Recipe(teacher="versatile").prompt_history() == 20
    assert Recipe(teacher="versatile", history_cap=3).prompt_history() == 3


def test_endless_source_needs_a_number():
    with pytest.raises(ValueError, match="set number"):
        shown(played=(LessonGames("random", 0.0, "uniform", None),))


# ---------------------------------------------------------------- tokens


@pytest.mark.parametrize(
    "template",
    [TEMPLATE, Template("{counts_csv}|{my_utils_csv}"), Template("Größe {counts_csv} 🎩 <pad> {history_str}\r\n{p}")],
)
def test_tokenizer_round_trip(template):
    tokenizer = prompt_tokenizer(template)
    games = rollout((Heuristic(), seat_occupant("conceder")), open_source("uniform").block(0, 0, 20), seed=0)
    table = GameBatch(games.scenarios)
    texts = template.render(table.turns())
    for text in [*texts, "prose that nobody thought of: ☃ 1234567890, {}[]", lessons_reply()]:
        assert tokenizer.decode(tokenizer(text)["input_ids"], clean_up_tokenization_spaces=False) == text


def lessons_reply() -> str:
    return shown(played=(LessonGames("random", 0.0, number=2),))[0].reply


def test_token_counts_and_deciding_tokens():
    tokenizer = prompt_tokenizer(TEMPLATE)
    told = shown(cap=0)
    assert max(len(tokenizer(lesson.prompt)["input_ids"]) for lesson in told) < 48 < len(told[0].prompt) / 40
    reply = tokenizer('{"act_type": 1, "oA": [1, 0, 10], "confidence": 0.5}')
    assert len(tokenizer.tokenize('{"act_type": 1, "oA": [1, 0, 10]')) == 5  # act, three numbers, bracket
    assert len(reply["input_ids"]) == 7


# ---------------------------------------------------------------- teaching


def weights(told: list[Lesson], seed: int) -> bytes:
    tokenizer = prompt_tokenizer(TEMPLATE)
    student = new_student(tokenizer, SMALL, seed)
    train_student(student, tokenizer, told, SMALL, seed, lambda *_: None)
    return b"".join(weight.detach().numpy().tobytes() for weight in student.parameters())


def test_training_is_deterministic():
    told = shown(cap=0)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    assert weights(told, 0) == weights(told, 0) != weights(told, 1)
    assert torch.equal(torch.get_rng_state(), before)


def test_student_memorises_lessons():
    told = shown(cap=0)[:24]
    losses = []
    tokenizer = prompt_tokenizer(TEMPLATE)
    student = new_student(tokenizer, SMALL, 0)
    settings = StudentSettings(32, 1, 2, 64, 150, 24, lr=1e-2)
    student = new_student(tokenizer, settings, 0)
    train_student(student, tokenizer, told, settings, 0, lambda _, loss: losses.append(loss))
    assert losses[-1] < 0.3 < 1 < losses[0]


def test_too_long_prompts_are_refused():
    long = [Lesson("word " * 500, '{"act_type": 4, "oA": [0, 0, 0], "confidence": 1.0}', 1)]
    tokenizer = prompt_tokenizer(TEMPLATE)
    with pytest.raises(ValueError, match="reads 1024"):
        train_student(new_student(tokenizer, SMALL, 0), tokenizer, long, SMALL, 0, lambda *_: None)


# ---------------------------------------------------------------- the folder


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "model"
    distill(TINY, TEMPLATE, folder, lambda line: None)
    return folder


def test_distilled_model_and_card(made, tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(made, local_files_only=True)
    assert model.config.model_type == "gpt2" and len(AutoTokenizer.from_pretrained(made)) == model.config.vocab_size
    card = read_card(made)
    assert card["teacher"] == "heuristic" and card["history_cap"] == 0 and read_card(tmp_path) == {}
    assert card["parameters"] == sum(weight.numel() for weight in model.parameters())
    assert not list(made.glob("*.bin"))
    distill(TINY, TEMPLATE, tmp_path / "again", lambda line: None)
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (made / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert torch.get_num_threads() == 1


def test_report_compares_equal_games(made):
    player = llm("hf", str(made))
    source = open_source("lewis", split="paper_test")
    seen = measure_imitation(player, seat_occupant("heuristic"), Heuristic(), source, Rules(3), 0)
    assert seen.decisions > 392 and 0 <= seen.whole <= seen.acts <= 1
    assert seen.agreement == pytest.approx(seen.student.deals / seen.teacher.deals)
    itself = measure_imitation(player, player, Heuristic(), source, Rules(3), 0)
    assert (itself.acts, itself.whole, itself.score) == (1, 1, 1)


# ---------------------------------------------------------------- made once


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("DOND_MARL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_own_model_is_built_once_with_a_warning(cache, caplog):
    caplog.set_level(logging.WARNING, "dond_marl.local_model")
    folder = own_model_folder(TINY, TEMPLATE)
    assert is_complete(folder) and folder.parent == cache / "models"
    assert "minutes" in caplog.messages[0] and str(folder) in caplog.messages[0]
    caplog.clear()
    stamp = (folder / CARD).stat().st_mtime_ns
    assert own_model_folder(TINY, TEMPLATE) == folder and not caplog.messages
    assert (folder / CARD).stat().st_mtime_ns == stamp


def test_model_per_prompt_and_recipe():
    names = {
        TINY.digest(TEMPLATE), TINY.digest(Template(TEMPLATE.text + " ")), Recipe().digest(TEMPLATE),
        Recipe(seed=1).digest(TEMPLATE), Recipe(student=SMALL).digest(TEMPLATE),
    }  # fmt: skip
    assert len(names) == 5


def test_incomplete_build_is_replaced(cache):
    folder = cache / "models" / TINY.digest(TEMPLATE)
    for half in (folder, folder.with_suffix(".new")):
        half.mkdir(parents=True)
        (half / "config.json").write_text("{")
    assert is_complete(own_model_folder(TINY, TEMPLATE))
    assert llm("hf", str(folder)).act(GameBatch(open_source("lewis").block(0, 0, 2)).turns()).act_type.shape == (2,)


def build(_: int) -> int:
    """In a process of its own: when the model that it finds or makes was made."""
    return (own_model_folder(TINY, TEMPLATE) / CARD).stat().st_mtime_ns


@pytest.mark.slow
def test_concurrent_builders(cache):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert len(set(pool.map(build, range(2)))) == 1


def test_unwritable_cache(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DOND_MARL_CACHE", str(tmp_path / "file"))
    with pytest.raises(SetupError, match=r"\$DOND_MARL_CACHE"):
        own_model_folder(TINY, TEMPLATE)


def test_auto_provider(monkeypatch):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    assert resolve_provider("auto") == "hf" and not llm().traits.remote
    monkeypatch.setenv("GROQ_API_KEY", "")
    assert resolve_provider("auto") == "hf", "an empty key is none"
    monkeypatch.setenv("GROQ_API_KEY", "gsk_of_a_test")
    assert resolve_provider("auto") == "groq" and llm().traits.remote
    assert "gsk_of_a_test" not in repr(llm().client.identity)
    assert not llm("hf").traits.remote, "what is asked for by name is not changed"
    for given, why in (({"model": "m"}, "needs its provider"), ({"provider": "hal"}, "one of auto, groq, openai, hf")):
        with pytest.raises(ValueError, match=why):
            llm(**given)


# ---------------------------------------------------------------- the command


def test_shipped_config_equals_defaults():
    assert load_config(ROOT / "experiments" / "configs" / "distill.yaml", (), DistillConfig).recipe() == Recipe()
    assert DistillConfig().recipe() == Recipe()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("games=[]", "at least one entry"),
        ("games=[{against: hal}]", "no occupant is called 'hal'"),
        ("games=[{scenarios: uniform}]", "number"),
        ("games=[{scenarios: lewis, split: tset}]", "split of scenarios='lewis'"),
        ("student.heads=5", "must divide the width"),
        ("teacher=hal", "no occupant is called 'hal'"),
    ],
)
def test_invalid_distill_settings(given, why):
    with pytest.raises(ConfigError, match=why):
        load_config(ROOT / "experiments" / "configs" / "distill.yaml", [given], DistillConfig)


def test_distill_command(tmp_path, capsys):
    path = tmp_path / "tiny.yaml"
    path.write_text(
        "teacher: heuristic\ngames: [{against: random, number: 20, split: train}]\nmax_turns: 3\n"
        "student: {width: 16, layers: 1, heads: 2, inner: 16, steps: 4, batch: 8}\n"
    )
    out = tmp_path / "model"
    command = "experiment", "distill", "--config", path
    assert dond(*command, "--out", out) == 0
    printed = capsys.readouterr().out
    for figure in ("the same act type in", "the same act in", "3,954 games"):
        assert figure in printed
    assert is_complete(out)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("")
    assert dond(*command, "--out", tmp_path / "other") == 1
    assert "other files" in capsys.readouterr().err
    assert dond(*command, overrides=["teacher=hal"]) == 2
    assert dond(*command, overrides=["prompt_path=nowhere.txt"]) == 2


@pytest.mark.slow
@pytest.mark.timeout(1800)  # two minutes of one core, whoever else needs it
def test_shipped_recipe_generalises(tmp_path):
    """The bar: 95 % of the agreement and 90 % of the score of the partner it imitates, against the heuristic."""
    distill(Recipe(), TEMPLATE, tmp_path, lambda line: None)
    client = LocalClient(LocalSettings(str(tmp_path)))
    student = LocalLLMPartner(client, client, history_cap=0)
    source = open_source("lewis", split="test")
    seen = measure_imitation(student, seat_occupant("expert"), Heuristic(), source, Rules(), 0)
    assert seen.agreement >= 0.95
    assert seen.score >= 0.9
    assert np.isfinite(seen.whole) and seen.acts > 0.8
