"""Negotiators of NegMAS in a seat, in a process of their own."""

import os
import pickle
import re
import signal
import sys
import threading
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dond_marl.batch import Ending
from dond_marl.game import Act, Rules
from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Cause, Traits, decide, worth
from partners.adapters import negmas_worker as worker
from partners.adapters.negmas_partner import DEATHS, NegMASPartner, worker_of

pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
SCENARIOS = open_source("lewis", split="test").table.rows(np.arange(0, 2000, 250))


ALONE = f"{Path(sys.executable).parent}/./{Path(sys.executable).name}"  # the same Python, with a worker of its own


@pytest.fixture(scope="module", autouse=True)
def _one_worker():
    """A process for all tests but those that end it: to load NegMAS takes longer than to play."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        NegMASPartner("scripted_negotiators.Ladder")
        yield
        worker_of(None).close()


@pytest.fixture
def alone():
    yield ALONE
    worker_of(ALONE).close()


class Ladder:
    """The same as the negotiator of that name, as a partner: a fold over the history."""

    traits = Traits(deterministic=True)

    def act(self, turns):
        acts, kept = [], []
        for row in range(turns.size):
            counts, values = turns.counts[row].tolist(), turns.my_utilities[row].astype(int)
            given = product(*(range(count + 1) for count in counts))  # what seat_0 gets, as NegMAS writes it
            mine = [g if turns.seat == 0 else tuple(c - k for c, k in zip(counts, g, strict=True)) for g in given]
            ranked = sorted(mine, key=lambda own: -int(values @ own))  # stable: ties in the order of what seat_0 gets
            step = ranked[min(turns.turns_taken // 2, len(ranked) - 1)]
            gift = int(worth(turns.my_utilities[row], turns.last_partner_offer_for_me[row]))
            acts.append(Act.AGREE if turns.act_mask[row, Act.AGREE] and gift >= values @ step else Act.PROPOSE)
            kept.append(step)
        return decide(np.array(acts), np.array(kept))


def both_seats(player, other, rules=Rules(), seed=3):
    return [
        rollout((player, other) if seat == 0 else (other, player), SCENARIOS, rules, seed=seed, index=(seat,))
        for seat in (0, 1)
    ]


def same(some, others):
    fields = ("act", "turns", "ending", "scores", "cause")
    for one, other in zip(some, others, strict=True):
        offered = np.isin(one.act, (Act.PROPOSE, Act.INSIST))[..., None]
        if any((getattr(one, each) != getattr(other, each)).any() for each in fields):
            return False
        if ((one.oA != other.oA) & offered).any():
            return False
    return True


def test_the_numbers_of_the_acts_are_those_of_the_game():
    assert [int(act) for act in Act] == [worker.PROPOSE, worker.INSIST, worker.AGREE, worker.DISAGREE, worker.END]


@pytest.mark.parametrize("other", ["heuristic", "linear", "conceder"])
def test_a_negotiator_and_the_same_as_a_partner_play_the_same_games(other):
    ours, theirs = seat_occupant(other), NegMASPartner("scripted_negotiators.Ladder")
    for rules in (Rules(), Rules(5, "rejects")):
        found = both_seats(theirs, ours, rules)
        assert same(found, both_seats(Ladder(), ours, rules))
    assert not theirs.forfeits and {"negmas", "scripted_negotiators"} <= theirs.versions.keys()


def test_refusals_are_translated_in_both_directions():
    class Refuses:
        traits = Traits(deterministic=True)

        def act(self, turns):
            return decide(np.full(turns.size, Act.DISAGREE), np.zeros((turns.size, 3)))

    games = both_seats(NegMASPartner("scripted_negotiators.Ladder"), Refuses(), Rules(6, "rejects"))
    assert same(games, both_seats(Ladder(), Refuses(), Rules(6, "rejects")))
    wordy = both_seats(NegMASPartner("scripted_negotiators.Wordy"), seat_occupant("stubborn"), Rules(6, "rejects"))
    assert (wordy[0].act[:, 0] == Act.DISAGREE).all() and (wordy[0].act[:, 2] == Act.PROPOSE).all()


def test_agent_random_numbers_come_from_the_seats_noise():
    dice, other = NegMASPartner("scripted_negotiators.Dice"), seat_occupant("stubborn")
    found = both_seats(dice, other)
    assert same(found, both_seats(pickle.loads(pickle.dumps(dice)), other))
    assert not same(found, both_seats(dice, other, seed=4))
    turns = []

    class Asked:
        traits = Traits()

        def act(self, seen):
            turns.append(seen)
            return dice.act(seen)

    both_seats(Asked(), other)
    for seen in turns:
        whole, rows = dice.act(seen), np.arange(seen.size)[::-2].copy()
        part = dice.act(seen.rows(rows))
        assert (part.act_type == whole.act_type[rows]).all() and (part.oA == whole.oA[rows]).all()


def test_games_go_on_where_the_process_was_killed(alone):
    ladder, other = NegMASPartner("scripted_negotiators.Ladder", python=alone), seat_occupant("linear")
    undisturbed = both_seats(ladder, other)

    class Killed:
        traits = Traits()
        turn = 0

        def act(self, seen):
            self.turn += 1
            if self.turn == 3:
                worker_of(alone).close()
            return ladder.act(seen)

    assert same(both_seats(Killed(), other), undisturbed) and not ladder.forfeits


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("raises", "RuntimeError: no idea"),
        ("stumbles", "TypeError: takes 1 positional argument"),
        pytest.param("hangs", "out of time", marks=pytest.mark.slow),
        ("offers", r"ValueError: offered \(99, 0, 0\)"),
    ],
)
def test_who_goes_wrong_forfeits_and_is_named(how, why):
    broken = NegMASPartner("scripted_negotiators.Broken", {"how": how}, limit=0.5)
    games = rollout((broken, seat_occupant("stubborn")), SCENARIOS.rows(np.arange(2)), seed=0)
    assert (games.act[:, 2] == Act.END).all() and (games.cause[:, 2] == Cause.FORFEIT).all()
    assert not games.deal.any() and games.valid.all() and (games.ending == Ending.END).all()
    assert sum(broken.forfeits.values()) == games.size
    assert all(re.match(why, each) for each in broken.forfeits)


@pytest.mark.slow
def test_agent_that_kills_its_process_loses_only_its_own_games(alone):
    broken, other = NegMASPartner("scripted_negotiators.Broken", {"how": "dies"}, alone), seat_occupant("stubborn")
    ladder = NegMASPartner("scripted_negotiators.Ladder", python=alone)
    undisturbed = both_seats(ladder, other)
    few = SCENARIOS.rows(np.arange(DEATHS))
    games = rollout((broken, other), few, seed=0)
    assert (games.cause[:, 2] == Cause.FORFEIT).all() and not games.deal.any()
    assert [each for each in broken.forfeits if "exit code 3" in each]
    assert rollout((broken, other), few, seed=0).turns.tolist() == [1] * few.size  # it is not started again
    assert any(f"died {few.size} times" in each for each in broken.forfeits)
    assert same(both_seats(ladder, other), undisturbed)


def test_the_others_utility_is_a_guess_from_the_pool_alone():
    told = worker.presumed_ufun_of([1, 2, 0], 1)
    assert [float(told(given)) for given in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 2, 0)]] == [1, 0.5, 0.75, 0]
    curious = NegMASPartner("scripted_negotiators.Curious")
    for seat, games in enumerate(both_seats(curious, seat_occupant("stubborn"))):
        assert (games.oA[:, seat::2][games.act[:, seat::2] == Act.PROPOSE] == 0).all()  # all is the other's
    assert not curious.forfeits


def test_what_an_agent_keeps_in_its_class_is_kept_for_one_game_alone():
    hoarder = NegMASPartner("scripted_negotiators.Hoarder")
    played = zip(
        both_seats(hoarder, seat_occupant("heuristic")),
        both_seats(NegMASPartner("scripted_negotiators.Ladder"), seat_occupant("heuristic")),
        strict=True,
    )
    for games, plain in played:
        np.testing.assert_array_equal(games.act, plain.act)
        np.testing.assert_array_equal(games.oA, plain.oA)
    assert not hoarder.forfeits


def test_agreeing_to_nothing_is_illegal():
    hasty = NegMASPartner("scripted_negotiators.Hasty")
    games = rollout((hasty, seat_occupant("heuristic")), SCENARIOS, seed=0)
    assert (games.cause[:, 0] == Cause.ILLEGAL).all() and hasty.forfeits["AGREE where it is not legal"] == games.size


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            {"kind": "negmas", "agent": "negmas.sao.Nobody"},
            "cannot be loaded .* no attribute 'Nobody'.*docs/PLUG_IN.md",
        ),
        ({"kind": "negmas", "agent": "HardHeaded"}, "agent must be the dotted path"),
        ({"kind": "negmas", "agent": "a.B", "python": "/no/python"}, "/no/python' cannot be started"),
    ],
)
def test_unusable_agents_are_refused_at_once(spec, said):
    with pytest.raises(OccupantNameError, match=said):
        seat_occupant(spec)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_is_no_forfeit_and_leaves_no_answer_for_the_next_request(request, alone):
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # a worker of pytest-xdist ignores interrupts
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, former))
    ladder = NegMASPartner("scripted_negotiators.Ladder", python=alone)
    hangs = NegMASPartner("scripted_negotiators.Broken", {"how": "hangs"}, alone, limit=20.0)
    row = {"key": "a", "seat": 0, "counts": [1, 1, 1], "values": [3, 3, 4], "seed": 0, "history": []}
    first = [(Act.PROPOSE, [1, 1, 1], "")]
    os.kill(worker_of(alone)._process.pid, signal.SIGINT)
    assert ladder.query([row], 10) == first
    second = [[0, [1, 1, 1]]] * 2
    interrupt = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        interrupt.start()
        hangs.query([{**row, "history": second}], 10)
    interrupt.join()
    assert ladder.query([row], 10) == first
