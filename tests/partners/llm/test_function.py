"""A function of the user in a seat, ``llm(provider=python, call=...)``: prompts, counts, limits, errors, frameworks."""

from __future__ import annotations

from pathlib import Path

import pytest

from dond_marl.batch import GameBatch
from dond_marl.game import Act
from dond_marl.occupants import OccupantNameError, parse_spec, pin_spec, seat_occupant
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Cause
from league import evaluate_pair
from partners.llm.client import SetupError
from tests.documents.pages import blocks

PAGE = Path(__file__).resolve().parents[3] / "docs" / "LANGUAGE_MODELS.md"
END = '{"act_type": 4, "oA": [0, 0, 0], "confidence": 1}'
MINE = f"""
import asyncio

running = [0]

def ends(prompt, text='{END}'):
    return text if "Pool" in prompt else None

async def waits(messages):
    running.append(running[-1] + 1)
    await asyncio.sleep(0.02)
    running.append(running[-1] - 1)
    return '{END}' if [message["role"] for message in messages] == ["system", "user"] else None

async def hangs(prompt):
    await asyncio.sleep(60)

def raises(prompt):
    raise KeyError(prompt)
"""
DSPY = f"""
import dspy
from dspy.utils import DummyLM

program = dspy.Predict("prompt -> reply")
program.set_lm(DummyLM({{"Pool": {{"reply": '{END}'}}}}))

def reply(prompt):
    return program(prompt=prompt).reply
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)


def turns(games=24):
    return GameBatch(open_source("lewis").block(0, 0, games)).turns()


def seated(name, **parameters):
    return seat_occupant({"kind": "llm", "provider": "python", "call": f"mine.py:{name}"} | parameters)


def test_function_gets_prompts_and_async_ones_several_messages_at_a_time():
    for name in ("ends", "waits"):
        partner = seated(name)
        decisions = partner.act(turns())
        assert (decisions.act_type == Act.END).all() and not decisions.cause.any()
        assert partner.tally["free"] == 24 and partner.client.tally["requests"] <= 24  # equal prompts are sent once
    assert max(partner.client._function.func.__globals__["running"]) > 1


def test_replies_are_read_asked_again_limited_and_stored(tmp_path):
    partner = seated("ends(text='I END')")
    assert (partner.act(turns()).cause == Cause.UNPARSABLE).all()
    assert partner.tally["re_asked"] == partner.tally["fallback_unparsable"] == 24
    limited = seated("ends", max_requests=3).act(turns())
    assert set(limited.cause.tolist()) == {Cause.FREE, Cause.BUDGET}
    cached = {"cache": str(tmp_path / "replies.sqlite")}
    seated("ends", cache_mode="record", **cached).act(turns())
    replayed = seated("ends", cache_mode="replay", **cached)
    assert not replayed.act(turns()).cause.any() and not replayed.client.tally["requests"]


@pytest.mark.filterwarnings("ignore:the model")
def test_failures_are_counted_and_a_broken_function_ends_the_run():
    slow = seated("hangs", timeout_s=0.05, re_asks=0)
    assert slow.act(turns(1)).cause.tolist() == [Cause.UNREACHABLE] and slow.tally["failed_timeout"] == 1
    for name, words in (("raises", "KeyError"), ("ends(text=3)", "no text"), ("ends(say=1)", "TypeError")):
        with pytest.raises(SetupError, match=words):
            seated(name).act(turns())


def test_name_needs_code_and_is_pinned_with_its_file():
    spec = pin_spec(parse_spec("llm(provider=python, call='mine.py:ends')"))
    assert "code" in spec.needs and "sha256" in spec.parameters["call"]
    seat_occupant(spec)
    Path("mine.py").write_text(MINE + "\n")
    with pytest.raises(OccupantNameError, match="changed"):
        seat_occupant(spec)


def test_name_without_a_function_in_a_file_is_refused():
    for wrong in ({"call": None}, {"call": "ends"}, {"call": "mine.py:gone"}, {"model": "m"}, {"provider": "hf"}):
        with pytest.raises(OccupantNameError):
            seated("ends", **wrong)


@pytest.mark.slow
@pytest.mark.parametrize("library", ["langgraph", "dspy"])
def test_agent_of_a_framework_plays_with_one_call_for_each_decision(library):
    pytest.importorskip(library)
    pages = {"dspy": DSPY, "langgraph": next(block for block in blocks(PAGE, "text") if "langgraph" in block)}
    Path("agent.py").write_text(pages[library])
    partner = seat_occupant("llm(provider=python, call='agent.py:reply', prompt=short)")
    evaluate_pair(partner, "heuristic", sample=10)
    assert partner.tally["free"] == partner.tally["decisions"] >= partner.client.tally["requests"] > 0
