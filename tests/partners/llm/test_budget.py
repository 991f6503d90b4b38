"""Budgets and list prices."""

from __future__ import annotations

import threading

import pytest

from partners.llm.budget import Budget, Cost, Limits, Price, list_price
from partners.llm.service import GROQ_MODEL, GROQ_URL, STRICT

ONE = Cost(1, 100, 0)


@pytest.mark.parametrize(
    ("limits", "fitting"),
    [
        (Limits(requests=3), 3),
        (Limits(tokens=350), 3),
        (Limits(requests=9, tokens=200), 2),
        (Limits(requests=0), 0),
        (Limits(tokens=99), 0),
    ],
)
def test_reserve_needs_the_worst_case(limits, fitting):
    budget = Budget(limits)
    assert [budget.reserve(ONE) for _ in range(12)] == [True] * fitting + [False] * (12 - fitting)
    assert budget.spent == Cost()


def test_settle_frees_the_rest():
    budget = Budget(Limits(tokens=250))
    for _ in range(15):  # 10 tokens each: the last that fits leaves 100 for its worst case
        assert budget.reserve(ONE)
        budget.settle(ONE, Cost(1, 10, 0))
    assert budget.spent == Cost(15, 150, 0)
    assert budget.reserve(ONE)
    budget.settle(ONE, ONE)
    assert not budget.reserve(ONE)


def test_money_is_exact():
    price = Price(prompt=0.15, completion=0.60)  # US dollars per million tokens
    one = price.cost(1000, 100)
    assert one == Cost(1, 1100, 210_000_000)
    assert one.usd == 0.00021
    budget = Budget(Limits(usd=0.0021))
    assert [budget.reserve(one) for _ in range(11)] == [True] * 10 + [False]


def test_seconds_count_overlapping_waits_once():
    now = [0.0]
    budget = Budget(Limits(seconds=8), now=lambda: now[0])
    with budget.waiting():
        now[0] = 3
        with budget.waiting():  # two at a time are no more than one
            now[0] = 4
    assert (budget.seconds, budget.seconds_left) == (4, 4)
    now[0] = 100
    assert budget.seconds == 4
    with budget.waiting():
        now[0] = 103
        assert budget.seconds_left == 1
        assert budget.reserve(ONE)
        now[0] = 106
        assert not budget.reserve(ONE)
        assert budget.reserve(ONE) is False


def test_threads_do_not_exceed_the_budget():
    budget = Budget(Limits(requests=1000))
    sent = []

    def spend():
        for _ in range(500):
            if budget.reserve(ONE):
                sent.append(1)
                budget.settle(ONE, ONE)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sent) == 1000 == budget.spent.requests


def test_list_prices_belong_to_the_service_that_published_them():
    for model in {GROQ_MODEL, *STRICT}:
        assert list_price(GROQ_URL, model).price.prompt > 0
        assert list_price("http://127.0.0.1:8000/v1", model) is None
    assert list_price(GROQ_URL, "openai/gpt-oss-20b").price == Price(0.075, 0.30)
    assert list_price(GROQ_URL, "unlisted") is None
    assert list_price("https://api.openai.com/v1", GROQ_MODEL) is None
