"""The catalogue: everybody is listed as they are, on any screen."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from dond.cli.catalogue import DECLARED, entries, entry_of, full
from dond_marl.occupants import catalogue, seat_occupant
from dond_marl.seats import Traits
from partners.scripted.heuristic import Heuristic
from tests.command import dond

ROOT = Path(__file__).resolve().parents[3]
NEEDS_NOTHING = [entry.name for entry in entries() if all(default is not None for default in entry.parameters.values())]
DEPENDS = ("announcer", "generated", "liar", "trembling")  # traits of the wrapped occupant, or of the program


def rendered(parts, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    for part in parts:
        console.print(part)
    return console.file.getvalue()


def test_everybody_has_a_name_a_sentence_and_a_source():
    listed = entries()
    assert [entry.name for entry in listed] == list(catalogue())
    for entry in listed:
        assert entry.sentence.endswith(".") and "``" not in entry.sentence + entry.source, entry
        assert entry.source and not entry.source.endswith("."), entry.name


def test_a_worked_entry():
    entry = entry_of("heuristic", Heuristic)
    assert entry.sentence.startswith("Accepts ")
    assert entry.source == "this project"
    assert entry.parameters == {"accept_ratio": "0.55", "insist_ratio": "0.5", "demand": "1.0"}
    assert entry.traits == Traits(deterministic=True, memoryless=True)
    assert entry.in_words == "deterministic, no memory" and entry.module == "partners.scripted.heuristic"


@pytest.mark.parametrize("name", [name for name in NEEDS_NOTHING if name not in ("llm", *DEPENDS)])
def test_shown_traits_equal_those_of_the_occupant(name):
    shown = next(entry for entry in entries() if entry.name == name).traits
    assert shown is not None and shown == seat_occupant(name).traits


def test_declared_traits_equal_those_of_the_occupant():
    assert set(DECLARED) == {"checkpoint", "expert"}  # expert: the test above
    made = seat_occupant({"kind": "checkpoint", "path": str(ROOT / "partners" / "experts" / "ppo.json")})
    assert made.traits == DECLARED["checkpoint"]


def test_traits_that_depend_on_parameters_are_left_open():
    by_name = {entry.name: entry for entry in entries()}
    for name in ("mixture", *DEPENDS):
        assert by_name[name].traits is None and "parameters" in by_name[name].in_words
    assert by_name["human"].in_words == "a person"


def test_every_parameter_of_a_scripted_partner_has_a_meaning_and_a_range():
    for entry in entries():
        if entry.name != "llm":  # whose text says what its many parameters are
            assert list(entry.meanings) == list(entry.parameters), entry.name
        if entry.module.startswith("partners.scripted."):
            ranges = r"-?\d+\.\.\d+\b|more than 0[;,] |at least `\w+`, |an occupant\b|16 hexadecimal digits |one of "
            assert all(re.match(ranges, text) for text in entry.meanings.values()), entry.name
    text = rendered(full([next(entry for entry in entries() if entry.name == "boulware")]), 160)
    assert "default 4.0  more than 0; 1 " in text and "- `exponent`" not in text


def test_json_is_for_programs(capsys):
    assert dond("catalogue", "boulware", "best_response", "boulware", "--json") == 0
    boulware, response = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["default"]) for one in boulware["parameters"]] == [("exponent", "4.0"), ("floor", "0.5")]
    assert boulware["parameters"][1]["meaning"].startswith("0..1, ")
    assert boulware["traits"]["deterministic"] is True and response["parameters"][0]["name"] == "to"
    assert response["parameters"][0]["default"] is None


def test_rewards_are_described_by_name(capsys):
    assert dond("catalogue", "llm_judge", "--json") == 0
    (entry,) = json.loads(capsys.readouterr().out)
    names = [parameter["name"] for parameter in entry["parameters"]]
    assert names[0] == "style" and "provider" in names and "max_requests" in names
