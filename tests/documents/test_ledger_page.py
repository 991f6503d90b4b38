"""The page of the ledger is what the code says, and no table of it goes without a word."""

from __future__ import annotations

import re

import pytest

from dond_marl.errors import RunFailure
from scripts.docs_site.ledger_page import PAGE, described


def test_the_page_is_what_the_code_says():
    page = PAGE.read_text(encoding="utf-8")
    assert described(page) == page, "run python -m scripts.docs_site.ledger_page"


def test_every_table_says_what_it_holds():
    schema = PAGE.read_text(encoding="utf-8").split("## The SQLite file")[1]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", schema, re.MULTILINE)
    assert len(rows) >= 12 and all(len(meaning) > 10 for _, _, meaning in rows)


def test_a_page_without_its_marks_is_told():
    with pytest.raises(RunFailure, match="has no line"):
        described("# Nothing")
