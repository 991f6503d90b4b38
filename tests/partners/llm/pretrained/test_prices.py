"""The table of prices: dated, of models that are named elsewhere, and of the services' own addresses alone."""

from __future__ import annotations

import json
from datetime import date

from partners.llm.budget import Price
from partners.llm.remote.prices import TABLE, listed
from partners.llm.service import GROQ_MODEL, GROQ_URL, STRICT


def test_every_price_has_a_date_and_a_page_and_completions_cost_more_than_prompts():
    rows = json.loads(TABLE.read_text(encoding="utf-8"))["prices"]
    assert len({(row["provider"], row["model"]) for row in rows}) == len(rows) > 3
    for row in rows:
        assert date(2026, 1, 1) < date.fromisoformat(row["date"]) <= date.today()
        assert row["page"].startswith("https://") and 0 < row["prompt"] < row["completion"]


def test_the_models_that_are_named_by_default_are_in_it_at_their_own_address_alone():
    for model in {GROQ_MODEL, *STRICT}:
        found = listed(GROQ_URL, model)
        assert found is not None and found.price.prompt > 0
        assert listed("http://127.0.0.1:8000/v1", model) is None
    assert listed(GROQ_URL, "openai/gpt-oss-20b").price == Price(0.075, 0.30)
    assert listed(GROQ_URL, "nobody") is None and listed("https://api.openai.com/v1", GROQ_MODEL) is None
