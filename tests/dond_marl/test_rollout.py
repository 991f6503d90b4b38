"""The one play loop."""

from __future__ import annotations

import itertools
import signal

import numpy as np
import pytest

from dond_marl.batch import Games
from dond_marl.errors import error_line
from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import Block, Noise, OccupantError, rollout, rollout_blocks
from dond_marl.scenarios.sources import ScenarioError, open_source, pack
from dond_marl.seats import Traits, decide


class Recorder:
    """Proposes everything and remembers what it was shown."""

    def __init__(self, deterministic: bool) -> None:
        self.traits = Traits(deterministic=deterministic)
        self.seen = []

    def act(self, turns):
        self.seen.append(turns)
        return decide(np.zeros(turns.size), turns.counts)


class Breaks(Recorder):
    """Answers three turns and then raises, or answers what cannot be played."""

    def __init__(self, how: str) -> None:
        super().__init__(deterministic=True)
        self.how = how

    def act(self, turns):
        decisions = super().act(turns)
        if self.how == "raises":
            raise ZeroDivisionError("out of ideas")
        if self.how == "illegal":
            return decisions._replace(oA=turns.counts + 1)
        if self.how == "shape":
            return decisions._replace(act_type=decisions.act_type[:-1])
        return None


# No two alike as seat_0 sees them, so that a row says which game it is.
SCENARIOS = open_source("uniform", max_count=10).draw(np.random.default_rng(0), 200)


def match(counts, utilities, turns) -> np.ndarray:
    """Which of the games, by position, the rows of ``turns`` are; they come in the same order."""
    keys = [tuple(row) for row in np.concatenate([counts, utilities], axis=1).tolist()]
    assert len(set(keys)) == len(keys)
    shown = np.concatenate([turns.counts, turns.my_utilities], axis=1).tolist()
    return np.array([keys.index(tuple(row)) for row in shown])


def test_games_keep_the_order_of_scenarios():
    games = rollout((seat_occupant("random"), seat_occupant("heuristic")), SCENARIOS, seed=1)
    assert games.size == SCENARIOS.size and (games.ending > 0).all()
    assert (games.scenarios.counts == SCENARIOS.counts).all()
    claimed = games.act <= Act.INSIST
    assert (games.oA[claimed] <= np.repeat(SCENARIOS.counts[:, None], 10, axis=1)[claimed]).all()


def test_blocks_by_seed_and_index():
    random = seat_occupant("random"), seat_occupant("random")
    first = rollout(random, SCENARIOS, seed=1, index=(0, 5))
    again = rollout(random, SCENARIOS, seed=1, index=(0, 5))
    assert all((getattr(first, name) == getattr(again, name)).all() for name in ("act", "oA", "scores", "ending"))
    for seed, index in ((2, (0, 5)), (1, (0, 6)), (1, (0,))):
        other = rollout(random, SCENARIOS, seed=seed, index=index)
        assert (other.act != first.act).any()


def test_rollout_of_blocks_equals_single_rollouts():
    """With chance in a turn (random), chance in a game (mixture), and memory (zeuthen)."""
    mixed = seat_occupant({"kind": "mixture", "of": ["zeuthen", "random", "personas"]})
    blocks = [Block(SCENARIOS.rows(slice(0, 90)), (4, 0)), Block(SCENARIOS.rows(slice(90, 200)), (7,))]
    for occupants in ((mixed, seat_occupant("random")), (seat_occupant("linear"), mixed)):
        together = rollout_blocks(occupants, blocks, seed=5)
        for block, games in zip(blocks, together, strict=True):
            alone = rollout(occupants, block.scenarios, seed=5, index=block.index)
            names = [name for name in Games._fields if name not in ("scenarios", "rules", "messages")]
            assert all((getattr(alone, name) == getattr(games, name)).all() for name in names)
            assert (games.scenarios.utilities == block.scenarios.utilities).all()


def test_noise_does_not_depend_on_ended_games():
    quiet, lasting = Recorder(deterministic=False), Recorder(deterministic=False)
    rollout((quiet, seat_occupant("random")), SCENARIOS, seed=3)  # random partners end many games early
    rollout((lasting, Recorder(deterministic=True)), SCENARIOS, seed=3)
    noise = Noise(3, (), SCENARIOS.size)
    assert min(turns.size for turns in quiet.seen) < SCENARIOS.size
    for seen in (quiet.seen, lasting.seen):
        games = np.arange(SCENARIOS.size)
        for turns in seen:
            # The open games keep their order, so each row's own scenario says which game it is.
            games = games[match(SCENARIOS.counts[games], SCENARIOS.utilities[games, 0], turns)]
            assert (turns.noise == noise.turn_noise(turns.turns_taken)[games]).all()
            assert (turns.game_noise == noise.game_noise(0)[games]).all()


def test_noise_by_turn_game_and_seat():
    first, second = Recorder(deterministic=False), Recorder(deterministic=False)
    rollout((first, second), SCENARIOS, seed=3)
    assert len(first.seen) == len(second.seen) == 5
    for seen in (first.seen, second.seen):
        assert all((turns.game_noise == seen[0].game_noise).all() for turns in seen)
    noises = [turns.noise for turns in (*first.seen, *second.seen)] + [
        first.seen[0].game_noise,
        second.seen[0].game_noise,
    ]
    stacked = np.concatenate(noises).ravel()
    assert len(np.unique(stacked)) == stacked.size
    assert stacked.min() >= 0 and stacked.max() < 1


def test_deterministic_partner_gets_no_noise():
    seat = Recorder(deterministic=True)
    rollout((seat, seat), SCENARIOS, seed=3)
    assert all(np.isnan(turns.noise).all() and np.isnan(turns.game_noise).all() for turns in seat.seen)


def test_the_prior_and_the_rules_reach_both_seats():
    seat, rules = Recorder(deterministic=True), Rules(4, "rejects")
    rollout((seat, seat), SCENARIOS, rules, seed=0, reveal_partner_utilities=True)
    assert {(t.prior, t.rules) for t in seat.seen} == {("uniform", rules)}
    assert [t.seat for t in seat.seen] == [0, 1, 0, 1]
    assert (seat.seen[0].partner_utilities == SCENARIOS.utilities[:, 1]).all()


def test_scenarios_keep_their_prior_and_play_needs_one():
    tough, one = seat_occupant("tough"), SCENARIOS.scenario(0)
    budgeted = open_source("lewis", normalize=True)
    assert budgeted.block(0, 0, 3).swap_seats().rows(slice(1)).prior == budgeted.prior == "lewis(budget=10)"
    assert rollout((tough, tough), pack([one], "lewis"), seed=0).rows(slice(1)).scenarios.prior == "lewis"
    for prior in ("", "Lewis", "lewis(", "lewis(budget=x)", "lewis(budget=10)!"):
        with pytest.raises(ScenarioError):
            rollout((tough, tough), pack([one], prior), seed=0)
    for change in ({"utilities": SCENARIOS.utilities + 30}, {"counts": -SCENARIOS.counts}):
        with pytest.raises(ScenarioError):
            rollout((tough, tough), SCENARIOS._replace(**change), seed=0)
    with pytest.raises(ScenarioError):
        rollout_blocks((tough, tough), [Block(pack([one], prior)) for prior in ("lewis", "uniform")], seed=0)


@pytest.mark.parametrize("how", ["raises", "illegal", "shape", "nothing"])
@pytest.mark.parametrize("seat", [0, 1])
def test_invalid_answers_name_occupant_and_seat(how, seat):
    occupants = [seat_occupant("tough"), seat_occupant("tough")]
    occupants[seat] = Breaks(how)
    with pytest.raises(OccupantError, match=f"seat_{seat}") as caught:
        rollout(tuple(occupants), SCENARIOS, seed=0)
    assert caught.value.seat == seat and caught.value.__cause__ is not None


class Unspeakable(Exception):  # somebody else's
    def __str__(self) -> str:
        raise RuntimeError("not even this")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("two\nlines\tand a bell\x07"), "ValueError: two lines and a bell"),
        (ValueError("\x1b]0;owned\x07\x1b[2Jgone"), "ValueError: ]0;owned [2Jgone"),
        (ValueError("half a pair \ud800 and \u202e reversed"), "ValueError: half a pair and reversed"),
        (Unspeakable(), "Unspeakable: (its message cannot be read)"),
        (ValueError("x" * 10_000), "ValueError: " + "x" * 288),
    ],
)
def test_error_line_is_printable(error, told):
    assert error_line(error) == told
    told.encode()


class Exits(Recorder):
    def act(self, turns):
        raise SystemExit(0)


class Stops(Recorder):
    def act(self, turns):
        raise StopIteration


class Interrupts(Recorder):
    def act(self, turns):
        raise KeyboardInterrupt


class Interrupted(Recorder):
    def act(self, turns):
        signal.raise_signal(signal.SIGINT)


def stop(_number, _frame):
    raise KeyboardInterrupt


def test_interrupt_raised_by_an_occupant_is_its_failure():
    before = signal.signal(signal.SIGINT, stop)
    try:
        with pytest.raises(OccupantError):
            rollout((Interrupts(deterministic=True), Bare()), SCENARIOS, seed=0)
        with pytest.raises(KeyboardInterrupt):
            rollout((Interrupted(deterministic=True), Bare()), SCENARIOS, seed=0)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which cannot be told from the occupant
        with pytest.raises(KeyboardInterrupt):
            rollout((Interrupts(deterministic=True), Bare()), SCENARIOS, seed=0)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("value", [256, -129, 0.5, float("nan")])
def test_decisions_that_int8_cannot_hold_are_refused(value):
    with pytest.raises(ValueError, match="-128"), np.errstate(invalid="ignore"):
        decide(np.zeros(2), np.full((2, 3), value))
    with pytest.raises(ValueError, match="-128"), np.errstate(invalid="ignore"):
        decide(np.full(2, value), np.zeros((2, 3)))


class Bare:
    def act(self, turns):
        return decide(np.zeros(turns.size), turns.counts)


@pytest.mark.parametrize("occupant", [Exits(deterministic=True), Stops(deterministic=True), Bare()])
def test_exiting_occupant_is_at_fault(occupant):
    with pytest.raises(OccupantError, match="seat_1"):
        rollout((seat_occupant("tough"), occupant), SCENARIOS, seed=0)


@pytest.mark.parametrize(
    "change", [{"cause": np.zeros(1, np.int8)}, {"cause": np.full(200, 300)}, {"confidence": np.ones(3)}]
)
def test_a_malformed_cause_or_confidence_is_refused(change):
    class Odd(Recorder):
        def act(self, turns):
            return super().act(turns)._replace(**change)

    with pytest.raises(OccupantError, match=r"cause|confidence"):
        rollout((Odd(deterministic=True), seat_occupant("tough")), SCENARIOS, seed=0)


# -- Random numbers are a function of (seed, stream, index)------------------------------------------------------


def test_numbers_do_not_depend_on_earlier_draws():
    first = generator(7, "turn noise", 3, 1).random(5)
    generator(7, "turn noise", 3, 0).random(1000)
    np.random.default_rng(0).random(3)
    assert (generator(7, "turn noise", 3, 1).random(5) == first).all()


def test_streams_differ_by_seed_stream_and_index():
    triples = [
        (seed, stream, index)
        for seed in (0, 1, 2**32, 2**63 - 1)
        for stream in ("turn noise", "game noise", "scenarios")
        for index in ((), (0,), (1,), (0, 0), (1, 0), (0, 1), (0, 0, 0), (2**31,))
    ]
    drawn = [tuple(generator(seed, stream, *index).random(4)) for seed, stream, index in triples]
    assert len(set(drawn)) == len(triples)


def test_neighboring_indices_are_not_correlated():
    columns = np.array([generator(0, "turn noise", index).random(4000) for index in range(6)])
    for a, b in itertools.combinations(columns, 2):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(4000)
