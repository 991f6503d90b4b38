"""What talk is worth: figures of a few scenarios, their file, and their table."""

from __future__ import annotations

import pytest

from dond_marl.errors import InputError
from league.experiments.talk import PROTOCOLS, lines, markdown, measured, parsed

ROWS = list(measured(pairs=[("announcer", "listener"), ("tough", "heuristic")], every=40))


def test_partners_that_do_not_talk_gain_nothing_by_it_and_truth_makes_deals():
    by = {(row.protocol, row.first): row for row in ROWS}
    assert len(by) == 2 * len(PROTOCOLS)
    for protocol in PROTOCOLS:
        silent = by[protocol, "tough"]
        assert [gain.mean for gain in silent.gains] == [0, 0] and silent.deals == silent.silent_deals
        told = by[protocol, "announcer"]
        assert told.deals.mean > told.silent_deals.mean and told.gains[1].mean > 0


def test_the_file_is_read_back_and_told_as_a_table():
    text = lines(ROWS).splitlines()
    again = parsed(text)
    assert markdown(again) == markdown(ROWS) and "| `announcer` | `listener` |" in markdown(again)
    for wrong in ("{}", "no json", '{"protocol": 1}'):
        with pytest.raises(InputError, match="no results of dond experiment talk"):
            parsed([wrong])
