"""Partners of one game: functions, generators and classes play the same, and what a game remembers is its history's."""

from __future__ import annotations

import pickle

import pytest

from dond_marl import Act, Rules, check_partner, one_game, open_source, seat_occupant
from dond_marl.errors import InputError
from dond_marl.game import Action, Scenario, State, apply, legal_actions
from dond_marl.occupants import OccupantNameError
from dond_marl.position import action_of
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import pack

SCENARIOS = open_source("lewis").block(0, 0, 40)
RULES = ((Rules(7), False), (Rules(6, "rejects"), False))
calls: list[int] = []  # an entry for each call of Patient


def answer(view, best, patience):
    if view.can_agree and view.worth(view.offer) >= 3 and view.luck[0] + view.character[0] > 2 * patience:
        return Act.AGREE
    return Act.PROPOSE, min(view.splits(), key=lambda keep: abs(view.worth(keep) - best - 4))


@one_game
class Patient:
    """Asks for more than the best offer so far."""

    def __init__(self, patience=0.7):
        self.patience, self.best = patience, 0

    def reply(self, view):
        calls.append(view.turns_left)
        self.best = max(self.best, view.worth(view.offer))
        return answer(view, self.best, self.patience)


@one_game
def patient(view, patience=0.7):
    best = 0
    while True:
        best = max(best, view.worth(view.offer))
        view = yield answer(view, best, patience)


@one_game(deterministic=True, memoryless=True)
def half(view, share=0.5):
    if view.can_agree and view.worth(view.offer) >= share * view.whole:
        return Act.AGREE
    return Act.PROPOSE, view.pool


@pytest.mark.parametrize("partner", [Patient(), Patient, patient, half, half(share=0.4)], ids=repr)
def test_program_conforms_to_its_traits_in_any_batch_and_as_a_copy(partner):
    check_partner(partner, games=2, sources=("lewis",), variants=RULES, report=lambda _: None)
    assert repr(pickle.loads(pickle.dumps(partner))) == repr(partner)


@pytest.mark.parametrize("seat", [0, 1])
def test_generator_and_class_play_the_same_games_with_one_call_for_each_decision(seat):
    calls.clear()
    ours, other = (Patient(patience=0.6), patient(patience=0.6)), seat_occupant("boulware")
    games, again = (rollout((mine, other) if seat == 0 else (other, mine), SCENARIOS, seed=3) for mine in ours)
    assert (games.oA == again.oA).all() and len(set(games.turns.tolist())) > 2
    assert len(calls) == ((games.turns + 1 - seat) // 2).sum()


def test_position_shows_the_game_from_its_seat():
    seen = []
    watcher = one_game(lambda view: seen.append(view) or (Act.PROPOSE, view.pool))
    scenario = Scenario((1, 2, 3), ((1, 3, 1), (7, 0, 1)))
    rollout((half, watcher), pack([scenario], "lewis"), seed=1)
    first, second = seen[:2]
    assert (first.pool, first.values, first.turns_left, first.whole) == ((1, 2, 3), (7, 0, 1), 9, 10)
    assert second.talk == [
        (False, Act.PROPOSE, (0, 0, 0)), (True, Act.PROPOSE, (1, 2, 3)), (False, Act.PROPOSE, (0, 0, 0)),
    ]  # fmt: skip
    assert second.before(1)[:8] == first[:8]
    table = apply(State(scenario), Action(Act.PROPOSE, (1, 2, 3)))
    assert first.legal() == list(legal_actions(table))


@pytest.mark.parametrize(
    "wrong", [None, Act.PROPOSE, (Act.PROPOSE, None), (Act.INSIST, (1, 2)), (9, (0, 0, 0)), "AGREE"]
)
def test_answer_that_is_no_action_is_refused(wrong):
    with pytest.raises(InputError, match="got"):
        action_of(wrong)
    with pytest.raises(OccupantError, match="got"):
        rollout((one_game(lambda view: wrong), half), SCENARIOS, seed=1)


def test_program_in_a_file_is_named_with_its_parameters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "from dond_marl import Act, one_game\n\n@one_game(deterministic=True)\n"
        "def asks(view, of=1):\n    return Act.PROPOSE, tuple(n * of for n in view.pool)\n"
    )
    assert seat_occupant("mine.py:asks(of=0)").traits.deterministic
    games = rollout((seat_occupant("mine.py:asks(of=0)"), half), SCENARIOS, seed=1)
    assert (games.scores[:, 1] == 10).all()
    with pytest.raises(OccupantNameError, match="floor"):
        seat_occupant("mine.py:asks(floor=1)")
    with pytest.raises(InputError, match="reply"):
        one_game(dict)
