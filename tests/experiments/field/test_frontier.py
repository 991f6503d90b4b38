"""Public games of talk and secret proposals: read, scored by hand, and our occupants on the same tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dond_marl.batch import GameBatch
from dond_marl.game import Act, Action, Rules, Scenario
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import pack
from dond_marl.seats import decide
from experiments.field.frontier.ours import in_paper_space, playable, played, played_unbound, proposals
from experiments.field.frontier.public import Instance, PublicGameError, games, instances
from experiments.field.frontier.scoring import outcome, rescored, summary
from partners.provenance import identity
from tests.command import in_process

# 3 pens, 1 cup, 2 keys. The first side wants keys alone, the second everything a little.
TABLE = Instance(0, (3, 1, 2), ((0, 0, 5), (1, 3, 2)))
FOUR = Instance(1, (1, 2, 1, 3), ((6, 0, 1, 1), (4, 1, 4, 0)))
RIVALS = Instance(3, (3, 2, 1), ((0, 0, 10), (1, 1, 5)))  # both want the last item above all
LARGE = Instance(2, (4, 2, 2), ((1, 1, 2), (0, 4, 1)))


def plain(table: Instance) -> dict[str, object]:
    first, second = map(list, table.values)
    named = {"game_id": table.number, "item_counts": list(table.counts)}
    return {**named, "player_a_values": first, "player_b_values": second}


@pytest.fixture
def folder(tmp_path):
    """Made by hand in the layout of the public collections: one model, three games."""
    made = {"experiments": [{"name": "semi_en", "game_instances": [plain(each) for each in (TABLE, FOUR, LARGE)]}]}
    (tmp_path / "instances_semi_en.json").write_text(json.dumps(made))
    ends = [
        (TABLE, [0, 0, 2], [3, 1, 0], False, True),
        (FOUR, [1, 0, 1, 3], [1, 2, 1, 0], False, False),  # both want the first item
        (LARGE, [4, 0, 2], None, True, False),
    ]
    for table, first, second, aborted, success in ends:
        place = tmp_path / "games" / "some-model" / "dond" / "semi_en" / f"instance_{table.number:05}"
        place.mkdir(parents=True)
        (place / "instance.json").write_text(json.dumps(plain(table)))
        said = {"player_a_proposal": first, "player_b_proposal": second, "Aborted": aborted, "Success": success}
        (place / "interactions.json").write_text(json.dumps(said))
    return tmp_path


def test_games_are_read_and_scored_as_by_hand(folder):
    found = games(folder / "games", "semi_en")
    assert [(each.model, each.instance) for each in found] == [("some-model", each) for each in (TABLE, FOUR, LARGE)]
    first, second, third = map(rescored, found)
    assert first == (True, (10, 6), 1.0, True)  # no division is worth more than 16
    assert not second.deal and not third.deal and second.points == third.points == (0, 0)
    figures = summary([each.instance for each in found], [first, second, third])
    assert figures.deals.mean == pytest.approx(1 / 3) and figures.pareto.n == 1
    assert [each.mean for each in figures.points] == pytest.approx([10 / 3, 2.0])


def test_a_lost_item_leaves_a_deal_that_can_be_improved():
    assert outcome(TABLE, ((0, 0, 2), (3, 0, 0))) == (True, (10, 3), 13 / 16, False)
    assert outcome(TABLE, ((1, 0, 2), (2, 1, 0))).pareto is False  # a pen that is worth nothing to its holder


def test_ours_play_what_fits_and_agree_as_in_our_game():
    assert playable([TABLE, FOUR, LARGE]) == [TABLE, LARGE]
    assert in_paper_space([TABLE, FOUR, LARGE]) == [TABLE]
    pushover, heuristic = seat_occupant("pushover"), seat_occupant("heuristic")
    (taken,) = played((heuristic, pushover), [TABLE], seed=0, replicate=0)
    assert taken.deal and taken.points[0] == 10  # the first offer is taken
    (refused,) = played((heuristic, heuristic), [RIVALS], seed=0, replicate=0)
    assert not refused.deal and refused.points == (0, 0)


def test_what_is_proposed_is_what_was_accepted_or_else_claimed():
    scenarios = pack([Scenario((3, 1, 2), ((0, 0, 5), (1, 3, 2)))])

    def ended(*acts: Action) -> tuple[object, object]:
        table = GameBatch(scenarios, Rules(10))
        for act_type, oA in acts:
            table.step(decide(np.array([act_type]), np.array([oA])))
        return proposals(table.games(), 0)

    first, second = Action(Act.PROPOSE, (3, 0, 2)), Action(Act.PROPOSE, (0, 1, 0))
    assert ended(first, Action(Act.AGREE)) == ((3, 0, 2), (0, 1, 0))
    assert ended(first, second, Action(Act.END)) == ((3, 0, 2), (0, 1, 0))
    assert ended(first, Action(Act.END)) == ((3, 0, 2), None)
    assert ended(first, Action(Act.DISAGREE)) == ((3, 0, 2), None)
    assert ended(first, second, Action(Act.DISAGREE)) == (None, (0, 1, 0))


def test_where_nothing_binds_who_agreed_may_claim_otherwise():
    pair = seat_occupant("expert(greedy=True)"), seat_occupant("expert(greedy=True)")
    bound, free = (play(pair, [RIVALS], seed=0, replicate=0) for play in (played, played_unbound))
    assert bound[0].deal and bound[0].points[0] > 0
    assert [each.deal for each in free] == [each.welfare > 0 for each in free]
    easy = played_unbound((seat_occupant("heuristic"), seat_occupant("heuristic")), [TABLE], seed=0, replicate=0)
    assert easy[0].deal and easy[0].points == (10, 6)


@pytest.mark.parametrize(
    ("file", "text"), [("instances_semi_en.json", "[]"), ("instances_semi_en.json", '{"experiments": []}')]
)
def test_another_layout_is_a_line_that_names_the_file(folder, file, text):
    (folder / file).write_text(text)
    with pytest.raises(PublicGameError, match=file):
        instances(folder, "semi_en")
    with pytest.raises(PublicGameError, match="anywhere below"):
        games(folder, "coop_en")
    with pytest.raises(PublicGameError, match="no such folder"):
        games(folder / "nowhere", "semi_en")


def test_a_table_of_too_many_divisions_is_told_and_not_looked_through(folder):
    table = plain(Instance(0, (10**6, 10**6, 1), ((0, 0, 5), (1, 3, 2))))
    (folder / "instances_semi_en.json").write_text(
        json.dumps({"experiments": [{"name": "semi_en", "game_instances": [table]}]})
    )
    with pytest.raises(PublicGameError, match="more than 100,000 ways"):
        instances(folder, "semi_en")


def test_the_command_writes_a_line_for_every_model_and_occupant_and_draws_them(folder):
    words = ["--instances", folder, "--transcripts", folder / "games", "--seat", "heuristic", "--reply", "heuristic"]
    out = folder / "frontier.jsonl"
    done = in_process("experiment", "frontier", *words, "--results", out, "--plot", folder / "frontier.svg")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["who"], row["tables"], row["games"]) for row in rows] == [
        ("some-model", "all", 3),
        ("some-model", "that fit", 2),
        ("heuristic", "that fit", 4),
        ("heuristic, nothing binding", "that fit", 4),
        ("the exact reply to heuristic", "of the paper's space", 2),
    ]
    assert "some-model" in done.stdout and (folder / "frontier.svg").read_text().startswith("<svg")
    assert rows[0]["disagree"] == 0 and rows[0]["aborted"] == 1
    assert rows[0]["players"] == {"heuristic": identity("heuristic")} and rows[0]["seed"] == 0
