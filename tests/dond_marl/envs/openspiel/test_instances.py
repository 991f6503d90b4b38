"""OpenSpiel's instances are read from its file or its package; those with five of a type are refused, or played."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from dond_marl.envs.openspiel_bargaining import InstanceError, load_instances
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.records.record import records_of, replay
from dond_marl.rollout import rollout

LINES = "1,2,3 8,1,0 4,0,2\n1,5,1 4,0,6 3,1,2\n2,2,1 1,1,6 0,4,2\n"  # the first, thirteenth and third of the thousand
CODE = '// a license\nnamespace x {\nconst char* kInstances =\n    R"(1,2,3 8,1,0 4,0,2\n1,5,1 4,0,6 3,1,2)"\n'
CODE += '    // another, as one of them may not be longer\n    R"(\n2,2,1 1,1,6 0,4,2\n)";\n}\n'


@pytest.mark.parametrize("text", [LINES, CODE, LINES.replace("\n", "\r\n")], ids=["text", "code", "windows"])
def test_instances_are_read_from_text_and_from_cpp(tmp_path, text):
    path = tmp_path / "instances"
    path.write_text(text, newline="")
    found = load_instances(path, max_count=5)
    assert found.scenarios.size == 3 and not found.refused and not found.refusal
    assert found.scenarios.scenario(1).counts == (1, 5, 1)
    assert found.scenarios.scenario(2).utilities == ((1, 1, 6), (0, 4, 2))
    assert found.source.max_count == 5 and found.source.table is found.scenarios


def test_those_with_too_many_of_a_type_are_refused_and_it_is_said_how_to_play_them(tmp_path):
    (tmp_path / "instances").write_text(LINES)
    found = load_instances(tmp_path / "instances")
    assert found.scenarios.size == 2 and found.refused == (2,)
    assert "1 of 3 instances are refused" in found.refusal and "max_count=5" in found.refusal


@pytest.mark.parametrize(
    ("text", "max_count", "words"),
    [
        ("1,2,3 8,1,0\n", 4, r"instances:1: an instance is three triples of numbers"),
        (LINES + "1,2,x 8,1,0 4,0,2\n", 4, r"instances:4: an instance is three triples"),
        ("0,0,0 8,1,0 4,0,2\n", 4, r"instances:1: counts must hold at least one item"),
        ("1,2,3 8,11,0 4,0,2\n", 4, r"instances:1: utilities of seat_0 must be"),
        (LINES, 1, "no instance holds at most 1 items"),
        (LINES, 0, "max_count must be an integer in 1..10"),
        ("", 4, "no instance holds"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_line(tmp_path, text, max_count, words):
    (tmp_path / "instances").write_text(text)
    with pytest.raises(InstanceError, match=words):
        load_instances(tmp_path / "instances", max_count)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(InstanceError, match="cannot be read as a file of instances"):
        load_instances(tmp_path / "none")


@pytest.mark.bench
@pytest.mark.skipif(find_spec("open_spiel") is None, reason="pip install -e '.[bench]' brings OpenSpiel")
def test_the_package_holds_a_thousand_and_all_of_them_are_played_and_replayed():
    few, every = load_instances(), load_instances(max_count=5)
    assert few.scenarios.size == 922 and len(few.refused) == 78 and "78 of 1000" in few.refusal
    assert every.scenarios.size == 1000 and (every.scenarios.pool_values == 10).all()
    played = rollout(
        (seat_occupant("nash_seeker"), seat_occupant("heuristic")), every.scenarios, Rules(), seed=0, prior="openspiel"
    )
    found = records_of(played, ("nash_seeker", "heuristic"))
    assert all(replay(record).outcome == record.outcome for record in found) and played.deal.mean() > 0.5
