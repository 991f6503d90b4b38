"""A diagnosis: what acts lose is what a member earns less than the best response; order is distinguished from luck."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest

from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import open_source
from league.evaluation.diagnosis import diagnose
from league.evaluation.matches import Terms, score
from league.results.pair import diagnosis_section
from partners.best_response import act_values_against
from partners.llm.client import ModelReply, Query
from partners.llm.partner import LLMPartner
from partners.llm.serving import ServedOccupants
from tests.command import dond
from tests.loopback import Service, completion, without_proxy_and_key

TEST = open_source("lewis", split="test")
ALL = open_source("lewis", split="all")
STUBBORN = '{"act_type": 1, "oA": [1, 1, 1], "confidence": 0.5}'


@dataclass
class Answers:
    """A client whose model is a function of the prompt."""

    of: Callable[[str], str]
    remote: bool = False
    tally: Counter[str] = field(default_factory=Counter)
    identity: dict[str, object] = field(default_factory=dict)

    def complete(self, asks: Sequence[Query]) -> list[ModelReply]:
        return [ModelReply(self.of(ask.prompt)) for ask in asks]


def some(number: int, seed: int = 0):
    return TEST.block(seed, 0, number)


def test_points_and_losses_are_the_best_responses_points():
    """Over all scenarios of one pool, so that beliefs are right on average: exactly."""
    pool = ALL.table.rows(np.flatnonzero((ALL.table.counts == (2, 3, 2)).all(axis=1)))
    found = diagnose("linear", "heuristic", pool, Rules(6))
    best = score(seat_occupant("best_response(to=heuristic)"), seat_occupant("heuristic"), Terms(ALL, pool, Rules(6)))
    assert found.points.mean + found.lost.mean == pytest.approx(best.points.mean, abs=1e-6)
    assert found.share == pytest.approx(found.points.mean / best.points.mean, abs=1e-6)
    assert found.lost.mean > 0 and sum(number for number, _ in found.by_act.values()) > pool.size


@pytest.mark.slow
def test_best_response_has_no_regret_and_no_noise():
    found = diagnose("best_response(to=heuristic)", "heuristic", some(30))
    assert found.lost.mean == pytest.approx(0, abs=1e-9)
    assert (found.noise.mean, found.noise.low, found.noise.high) == (0, 0, 0)
    assert diagnose("random", "heuristic", some(30)).noise.mean != 0


def test_unknown_answers_are_noted():
    found = diagnose("linear", "micro", some(10))
    assert found.lost is None and "not known" in found.note
    assert json.loads(json.dumps(found.document()))["share"] is None
    assert "not known" in " ".join(diagnosis_section(found).notes)


def test_stochastic_partner_has_no_act_values():
    """The task of Inspect leaves out what acts lost then, and plays on."""
    one = TEST.table.scenario(0)
    assert act_values_against(seat_occupant("random"), Rules(), TEST.prior, one) is None
    assert act_values_against(seat_occupant("boulware"), Rules(), TEST.prior, one) is not None


def test_the_command_prints_and_writes_it(tmp_path, capsys):
    pair = ["--member", "linear", "--against", "heuristic", "--sample", 10, "--max-turns", 4]
    assert dond("evaluate", *pair, "--diagnose", "--json", tmp_path / "e.json") == 0
    written = json.loads((tmp_path / "e.json").read_text(encoding="utf-8"))["diagnosis"]
    assert written["games"] == 20 and written["lost"]["mean"] > 0
    assert f"{written['share']:.1%}" in capsys.readouterr().out


BREAKS = """
from partners.scripted.heuristic import Tough

class Breaks(Tough):
    made = 0

    def __init__(self):
        type(self).made += 1
        self.broken = self.made > 1

    def act(self, turns):
        if self.broken:
            raise RuntimeError("broken")
        return super().act(turns)
"""


@pytest.mark.slow
def test_failed_diagnosis_keeps_the_evaluation(tmp_path, capsys):
    (tmp_path / "breaks.py").write_text(BREAKS)
    words = ["--member", f"{tmp_path}/breaks.py:Breaks", "--against", "heuristic", "--sample", 4, "--diagnose"]
    assert dond("evaluate", *words, "--json", tmp_path / "e.json", "--csv", tmp_path / "e.csv") != 0
    assert "RuntimeError: broken" in capsys.readouterr().err
    written = json.loads((tmp_path / "e.json").read_text(encoding="utf-8"))
    assert written["figures"] and "diagnosis" not in written
    assert (tmp_path / "e.csv").stat().st_size


def test_budget_covers_evaluation_and_diagnosis(monkeypatch, capsys):
    without_proxy_and_key(monkeypatch)
    service = Service(lambda heard, _: completion(STUBBORN))
    spec = f"llm(provider=openai, base_url='{service.url}', model=m, structure=text, max_requests=40)"
    try:
        words = ["--member", spec, "--against", "heuristic", "--sample", 8, "--max-turns", 4, "--diagnose"]
        assert dond("evaluate", *words) == 0
        assert len(service.heard) == 40
        assert "Diagnosis" in capsys.readouterr().out
    finally:
        service.close()


def test_cached_replies_have_no_token_counts(tmp_path, monkeypatch):
    """Nothing was read or paid for, but a game without a cache costs something."""
    without_proxy_and_key(monkeypatch)
    service = Service(lambda heard, _: completion(STUBBORN))
    spec = (
        f"llm(provider=openai, base_url='{service.url}', model=m, structure=text, cache='{tmp_path}/c.sqlite', "
        "cache_mode=record, prompt_price=1.0, completion_price=1.0)"
    )
    try:
        first, again = (diagnose(spec, "heuristic", some(2), Rules(4)) for _ in range(2))
        assert first.answers["prompt_tokens"] >= 100 and first.answers["dollars"] > 0
        assert again.document()["answers"]["prompt_tokens"] is None is again.document()["answers"]["dollars"]
        assert "a cache answered" in str(diagnosis_section(again))
    finally:
        service.close()


RATES = (0.0, 0.08, 0.2, 0.4, 0.7, 1.0)  # of acts that are chance: the more, the worse


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_six_policies_of_known_order_are_ranked_in_that_order(seed):
    """200 games each, queried by prompts and read by replies, as a language model is: Kendall's tau is 1."""
    server = ServedOccupants({})
    lost = []
    for rate in RATES:
        policy = seat_occupant(f"trembling(of=expert, rate={rate})") if rate else seat_occupant("expert")

        def line(prompt: str, policy=policy) -> str:
            return server.line(policy, prompt, seed)

        found = diagnose(LLMPartner(Answers(line)), "heuristic", some(100, seed), seed=seed)
        assert found.answers["legal"] == 1
        lost.append(found.lost.mean)
    assert all(better < worse for better, worse in pairwise(lost)), lost
