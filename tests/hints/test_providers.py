"""Makers of hints, their cadence, and how a network reads them."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest

from dond_marl.batch import GameBatch
from dond_marl.conformance import VARIANTS, positions
from dond_marl.envs.features import BaseLayout, encode
from dond_marl.game import Act, Rules, Scenario
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source, pack
from dond_marl.seats import Cause, Decisions, Hinter, Hints, HintSource, Traits, decide
from hints import ExpertHinter, HintAdapter, HinterError, HintSchedule, LayoutError, RandomHinter
from hints.schedule import hint_features

SCENARIOS = open_source("lewis").draw(np.random.default_rng(0), 40)
TABLE = Scenario((2, 0, 3), ((2, 0, 2), (1, 8, 0)))  # a pool of 2 books and 3 balls, no hat


class Stalls:
    """Proposes to keep everything, so that games last, and remembers its hints."""

    def __init__(self) -> None:
        self.traits = Traits(deterministic=True)
        self.told = []

    def act(self, turns):
        self.told.append(turns.hint_features.copy())
        return decide(np.zeros(turns.size), turns.counts)


class Says:
    """Answers with its argument to every query."""

    traits = Traits(deterministic=True)

    def __init__(self, answer) -> None:
        self.answer = answer

    def act(self, turns):
        return self.answer(turns) if callable(self.answer) else self.answer


class Terse:
    """A hinter that states no causes: the first row it leaves out, the second it gets wrong, the third is too sure."""

    def hint(self, turns):
        oA = np.zeros((turns.size, 3), dtype=np.int8)
        oA[1] = 100
        confidence = np.full(turns.size, 7, dtype=np.float32)
        return Hints(np.zeros(turns.size, dtype=np.int8), oA, confidence, np.arange(turns.size) > 0)


def opening(size=1, scenario=TABLE):
    return GameBatch(pack([scenario] * size, "uniform")).turns()


def said(*rows):
    """Decisions from rows of (act type, oA, confidence, cause)."""
    act, oA, confidence, cause = zip(*rows, strict=True)
    return Decisions(
        np.array(act, np.int8), np.array(oA, np.int8), np.array(confidence, np.float32), np.array(cause, np.int8)
    )


def hinters():
    heuristic = seat_occupant("heuristic")
    return {
        "random": RandomHinter(),
        "expert": ExpertHinter(heuristic),
        "missing expert": ExpertHinter(None, heuristic),
        "unsure expert": ExpertHinter(seat_occupant("random")),
    }


def test_random_hints_are_the_acts_of_the_random_partner():
    turns = opening(500)._replace(noise=np.random.default_rng(1).random((500, 8)))
    given, alike = RandomHinter().hint(turns), seat_occupant("random").act(turns)
    assert (given.act_type == alike.act_type).all() and (given.oA == alike.oA).all()
    assert given.available.all() and not given.confidence.any()


def test_an_expert_hints_what_its_partner_would_say_with_the_partners_confidence():
    turns = opening(50)._replace(noise=np.random.default_rng(2).random((50, 8)))
    partner = seat_occupant("random")
    given, own = ExpertHinter(partner).hint(turns), partner.act(turns)
    assert (given.act_type == own.act_type).all() and (given.oA == own.oA).all() and given.available.all()
    assert (given.confidence == own.confidence).all() and len(set(own.confidence.tolist())) > 1
    assert ExpertHinter(partner).traits == partner.traits and not HintSchedule(ExpertHinter(partner)).deterministic
    assert HintSchedule(ExpertHinter(seat_occupant("heuristic"))).deterministic, "and so it is given no noise"


def test_a_missing_expert_hints_the_greedy_act_and_every_such_hint_is_counted():
    greedy, turns = seat_occupant("heuristic"), opening(6)
    by_absence = HintSchedule(ExpertHinter(None, fallback=greedy))
    by_its_own_word = HintSchedule(
        ExpertHinter(Says(greedy.act(turns)._replace(cause=np.full(6, Cause.MISSING, np.int8))))
    )
    direct = HintSchedule(ExpertHinter(greedy))
    for schedule in (by_absence, by_its_own_word):
        assert (schedule.hint_features(turns) == direct.hint_features(turns)).all()
        assert schedule.tally == Counter(asked=6, available=6, missing=6)
    assert direct.tally == Counter(asked=12, available=12)
    with pytest.raises(ValueError, match="neither"):
        ExpertHinter(None)


def test_failed_hints_are_neutral_and_counted_by_cause():
    answer = said(
        (Act.PROPOSE, (2, 0, 1), 0.5, Cause.FREE),
        (Act.PROPOSE, (3, 0, 0), 0.5, Cause.FREE),  # more books than there are
        (Act.INSIST, (0, -1, 0), 0.5, Cause.FREE),
        (Act.AGREE, (0, 0, 0), 0.5, Cause.MISSING),  # nothing is on the table
        (9, (0, 0, 0), 0.5, Cause.FREE),
        (Act.PROPOSE, (0, 0, 0), np.nan, Cause.FREE),
        (Act.PROPOSE, (0, 0, 0), 1.5, Cause.FREE),
        (Act.PROPOSE, (0, 0, 0), 0.5, Cause.UNREACHABLE),
        (Act.PROPOSE, (0, 0, 0), 0.5, Cause.UNPARSABLE),
        (Act.PROPOSE, (0, 0, 0), 0.5, Cause.ILLEGAL),
        (Act.PROPOSE, (0, 0, 0), 0.5, Cause.BUDGET),
        (Act.END, (9, 9, 9), 1.0, Cause.FREE),  # oA counts only in an offer
    )
    schedule = HintSchedule(ExpertHinter(Says(answer)))
    told = schedule.hint_features(opening(12))
    assert told[0].tolist() == pytest.approx([1, 0, 0, 0, 0, 1, 0, 1 / 3, 0.5, 1])
    assert told[11].tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 1, 1]
    assert not told[1:11].any()
    assert schedule.tally == Counter(asked=12, available=2, illegal=5, unparsable=3, unreachable=1, budget=1)


@pytest.mark.parametrize("answer", [None, decide(np.zeros(2), np.zeros((2, 3)))], ids=["nothing", "too few"])
def test_an_answer_that_cannot_be_read_gives_no_hints(answer):
    schedule = HintSchedule(ExpertHinter(Says(answer)))
    assert not schedule.hint_features(opening(3)).any()
    assert schedule.tally == Counter(asked=3, unparsable=3)


@pytest.mark.parametrize("part", Hints._fields)
def test_hints_of_one_row_are_not_repeated(part):
    class Short(Terse):
        def hint(self, turns):
            hints = super().hint(turns)._replace(cause=np.zeros(turns.size, np.int8))
            return hints._replace(**{part: getattr(hints, part)[-1:]})

    schedule = HintSchedule(Short())
    assert not schedule.hint_features(opening(3)).any()
    assert schedule.tally == Counter(asked=3, unparsable=3)


def test_a_partner_that_raises_gives_no_hints_and_is_shown():
    def broken(turns):
        raise ConnectionError("no route")

    schedule = HintSchedule(ExpertHinter(Says(broken)))
    with pytest.warns(RuntimeWarning, match="ConnectionError: no route"):
        assert not schedule.hint_features(opening(3)).any()
    assert schedule.tally == Counter(asked=3, unreachable=3)

    def misconfigured(turns):
        raise HinterError("mend me")

    with pytest.raises(HinterError, match="mend me"):  # which ends the run
        ExpertHinter(Says(misconfigured)).hint(opening(3))


def test_hinter_without_causes_stays_in_range():
    schedule = HintSchedule(Terse())
    told = schedule.hint_features(opening(4))
    assert told[:, 9].tolist() == [0, 0, 1, 1] and told.max() == 1 and not told[:2].any()
    assert schedule.tally == Counter(asked=4, available=2, illegal=1, unstated=1)
    assert not schedule.deterministic, "who declares nothing is given noise"


def test_features_of_a_worked_hint():
    # pool: 2 books, 0 hats, 3 balls. The hint: INSIST on 1 book and 3 balls, 0.25 sure; the second row has none.
    hint = Hints(
        np.array([1, 0], np.int8),
        np.array([[1, 0, 3], [0, 0, 0]], np.int8),
        np.array([0.25, 0], np.float32),
        np.array([True, False]),
    )
    features = hint_features(hint, opening(2).caps)
    assert features.dtype == np.float32
    assert features.tolist() == [[0, 1, 0, 0, 0, 0.5, 0, 1, 0.25, 1], [0] * 10]


@pytest.mark.parametrize("cadence_k", [1, 2, 7])
@pytest.mark.parametrize("seat", [0, 1])
def test_hints_come_on_every_kth_own_step(cadence_k, seat):
    schedule, occupants = HintSchedule(ExpertHinter(seat_occupant("heuristic")), cadence_k), (Stalls(), Stalls())
    whispers = (schedule, None) if seat == 0 else (None, schedule)
    rollout(occupants, SCENARIOS, Rules(10), seed=1, hints=whispers)
    told = [features[:, 9] for features in occupants[seat].told]
    assert len(told) == 5
    for step, available in enumerate(told):
        assert (available == (step % cadence_k == 0)).all()
    assert all(not features.any() for features in occupants[1 - seat].told)
    times = len(range(0, 5, cadence_k))
    assert schedule.tally == Counter(asked=40 * times, available=40 * times)


@pytest.mark.parametrize("cadence_k", [0, 1.0])
def test_a_cadence_that_is_no_number_of_steps_is_refused(cadence_k):
    with pytest.raises(ValueError, match=r"an integer >= 1; got"):
        HintSchedule(RandomHinter(), cadence_k)
    with pytest.raises(TypeError, match="object with hint"):
        HintSchedule(RandomHinter)


@pytest.mark.parametrize("name", hinters())
def test_hints_keep_the_contract_in_every_kind_of_position(name):
    hinter = hinters()[name]
    schedule, asked = HintSchedule(hinter), seat_occupant("random")
    assert isinstance(hinter, Hinter) and isinstance(schedule, HintSource)
    rng = np.random.default_rng(3)
    for position in positions(asked, games=8, variants=VARIANTS[:4]):
        features = schedule.hint_features(position.turns)
        assert features.shape == (8, 10) and features.dtype == np.float32
        assert features.min() >= 0 and features.max() <= 1
        assert (features[:, :5].sum(axis=1) == 1).all() and (features[:, 9] == 1).all()
        assert not features[features[:, :2].sum(axis=1) == 0, 5:8].any()
        assert (features[:, :5].astype(bool) <= position.turns.act_mask).all()
        assert (features == schedule.hint_features(position.hidden)).all(), "the other seat's values do not show"
        order = rng.permutation(8)[:5]
        assert (features[order] == schedule.hint_features(position.turns.rows(order))).all(), "other rows do not matter"


def test_unused_hints_change_no_game():
    occupants = seat_occupant("random"), seat_occupant("boulware")
    bare = rollout(occupants, SCENARIOS, seed=5)
    hinted = rollout(occupants, SCENARIOS, seed=5, hints=(HintSchedule(RandomHinter()),) * 2)
    assert (bare.act == hinted.act).all() and (bare.oA == hinted.oA).all()


def test_the_adapter_lays_hints_behind_the_base_features():
    base = BaseLayout(max_count=4, max_turns=10)
    adapter, plain = HintAdapter(base), HintAdapter(base, hints=False)
    assert adapter.name == "base-v1(max_count=4, max_turns=10)+hints-v1" and plain.name == base.name
    assert adapter.width == base.width + 10 == sum(width for _, width in adapter.pieces) and plain.width == base.width
    turns = opening(3)
    turns = turns._replace(hint_features=HintSchedule(ExpertHinter(seat_occupant("heuristic"))).hint_features(turns))
    features = adapter.encode(turns)
    assert features.dtype == np.float32 and (features[:, : base.width] == encode(turns, base)).all()
    assert (features[:, base.width :] == turns.hint_features).all() and turns.hint_features.any()
    assert (plain.encode(turns) == encode(turns, base)).all()
    assert pickle.loads(pickle.dumps(adapter)) == adapter


def test_another_layout_than_the_stored_one_is_a_clear_error():
    adapter = HintAdapter(BaseLayout(max_count=4, max_turns=10, partner_utilities=True))
    adapter.check(adapter.name)
    for other in (
        HintAdapter(BaseLayout(4, 10)),
        HintAdapter(BaseLayout(4, 12, True)),
        HintAdapter(adapter.base, hints=False),
    ):
        with pytest.raises(LayoutError, match="train anew") as refused:
            adapter.check(other.name)
        assert repr(other.name) in str(refused.value) and repr(adapter.name) in str(refused.value)
