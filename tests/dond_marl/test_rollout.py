"""The one play loop."""

from __future__ import annotations

import itertools
import signal

import numpy as np
import pytest

from dond_marl.batch import GameBatch, Games
from dond_marl.envs.turn import turn_of
from dond_marl.errors import error_line
from dond_marl.game import Act, Action, IllegalAct, Rules, State, apply, forfeit, may_agree, rule_against
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import Block, Noise, OccupantError, rollout, rollout_blocks
from dond_marl.scenarios.sources import ScenarioError, open_source, pack
from dond_marl.seats import Traits, Turns, decide


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


def test_the_prior_and_the_rules_reach_both_seats():
    seat, rules = Recorder(deterministic=True), Rules(4, "rejects")
    rollout((seat, seat), SCENARIOS, rules, seed=0, reveal_partner_utilities=True)
    assert {(t.prior, t.rules) for t in seat.seen} == {("uniform", rules)}
    assert [t.seat for t in seat.seen] == [0, 1, 0, 1]
    assert (seat.seen[0].partner_utilities == SCENARIOS.utilities[:, 1]).all()
    assert all(np.isnan(t.noise).all() and np.isnan(t.game_noise).all() for t in seat.seen)


def test_scenarios_keep_their_prior_and_play_needs_one():
    tough, one = seat_occupant("tough"), SCENARIOS.scenario(0)
    budgeted = open_source("lewis", normalize=True)
    assert budgeted.block(0, 0, 3).swap_seats().rows(slice(1)).prior == budgeted.prior == "lewis(budget=10)"
    assert rollout((tough, tough), pack([one], "lewis"), seed=0).rows(slice(1)).scenarios.prior == "lewis"
    for prior in ("", "lewis(budget=x)"):
        with pytest.raises(ScenarioError):
            rollout((tough, tough), pack([one], prior), seed=0)
    for change in ({"utilities": SCENARIOS.utilities + 30}, {"counts": -SCENARIOS.counts}):
        with pytest.raises(ScenarioError):
            rollout((tough, tough), SCENARIOS._replace(**change), seed=0)
    with pytest.raises(ScenarioError):
        rollout_blocks((tough, tough), [Block(pack([one], prior)) for prior in ("lewis", "uniform")], seed=0)


@pytest.mark.parametrize(("how", "seat"), [("raises", 0), ("illegal", 1), ("shape", 0), ("nothing", 1)])
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
        (Unspeakable(), "Unspeakable: (its message cannot be read)"),
        (ValueError("x" * 10_000), "ValueError: " + "x" * 288),
    ],
)
def test_error_line_is_printable(error, told):
    assert error_line(error) == told
    told.encode()


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
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("value", [256, 0.5])
def test_decisions_that_int8_cannot_hold_are_refused(value):
    with pytest.raises(ValueError, match="-128"), np.errstate(invalid="ignore"):
        decide(np.zeros(2), np.full((2, 3), value))
    with pytest.raises(ValueError, match="-128"), np.errstate(invalid="ignore"):
        decide(np.full(2, value), np.zeros((2, 3)))


class Bare:
    def act(self, turns):
        return decide(np.zeros(turns.size), turns.counts)


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


def test_streams_differ_by_seed_stream_and_index():
    triples = [
        (seed, stream, index)
        for seed in (0, 1, 2**32, 2**63 - 1)
        for stream in ("turn noise", "game noise", "scenarios")
        for index in ((), (0,), (1,), (0, 0), (1, 0), (0, 1), (0, 0, 0), (2**31,))
    ]
    drawn = [tuple(generator(seed, stream, *index).random(4)) for seed, stream, index in triples]
    assert len(set(drawn)) == len(triples)


# -- The batched engine plays exactly the rules of game.py, under every variant, turn by turn


VARIANTS = list(itertools.product((1, 2, 3, 10), ("ends", "rejects"), ("raise", "forfeit"), (False, True)))
GAMES = 150  # per variant and source
TALKS = ("", "", "I like hats.", "no!", '{}[]~ "')


def assert_same_view(turns: Turns, row: int, state: State, reveal: bool) -> None:
    """Every field of a row of turns says what the state says."""
    seat, scenario = state.mover, state.scenario
    claim = state.claims[1 - seat]
    assert turns.seat == seat
    assert tuple(turns.counts[row]) == scenario.counts
    assert tuple(turns.my_utilities[row]) == scenario.utilities[seat]
    assert tuple(turns.partner_utilities[row]) == (scenario.utilities[1 - seat] if reveal else (0, 0, 0))
    last = state.last_act(1 - seat)
    assert turns.last_partner_act[row] == (Act.END if last is None else last)
    offered = (0, 0, 0) if claim is None else tuple(c - k for c, k in zip(scenario.counts, claim, strict=True))
    assert tuple(turns.last_partner_offer_for_me[row]) == offered
    assert turns.turns_remaining[row] == state.turns_remaining
    assert turns.act_mask[row].tolist() == [True, True, may_agree(state, seat), True, True]
    alone = turn_of(state, reveal_partner_utilities=reveal, prior="")
    for history, i in ((turns.history, row), (alone.history, 0)):
        assert history.act[i].tolist() == [action.act_type for action in state.history]
        assert history.oA[i].tolist() == [list(action.oA) for action in state.history]
        assert history.messages[i].tolist() == (list(state.messages) or [""] * len(state.history))
    for name in ("last_partner_act", "last_partner_offer_for_me", "act_mask"):
        assert getattr(alone, name)[0].tolist() == getattr(turns, name)[row].tolist()


@pytest.mark.parametrize("source", ["uniform", pytest.param("lewis", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("max_turns", "disagree", "illegal", "reveal"), VARIANTS)
def test_random_play_is_the_same_in_both_engines(source, max_turns, disagree, illegal, reveal):
    rng = np.random.default_rng([max_turns, disagree == "ends", illegal == "raise", reveal])
    assert_the_same_play(source, Rules(max_turns, disagree), illegal, reveal, rng, GAMES)


@pytest.mark.parametrize("illegal", ["raise", "forfeit"])
def test_messages_are_the_same_in_both_engines(illegal):
    rules = Rules(5, "rejects", message_length=20)
    assert_the_same_play("lewis", rules, illegal, False, np.random.default_rng([5, 20]), 200)


def assert_the_same_play(source, rules, illegal, reveal, rng, size):
    scenarios = open_source(source).draw(rng, size)
    table = GameBatch(scenarios, rules, reveal_partner_utilities=reveal, illegal=illegal)
    states = [State(scenarios.scenario(i), rules) for i in range(size)]
    while table.open:
        turns, live = table.turns(), table.live
        for row in rng.choice(len(live), size=min(len(live), 5), replace=False):
            assert_same_view(turns, int(row), states[live[row]], reveal)
        weights = turns.act_mask * np.array([6, 3, 1, 1, 0.5])  # long games, every ending
        act = (rng.random((turns.size, 5)) * weights).argmax(axis=1).astype(np.int8)
        oA = rng.integers(0, turns.counts + 1, dtype=np.int8)
        # Half of the final claims complement the partner's, so that selections close deals too.
        fits = rng.random(turns.size) < 0.3
        oA[fits] = turns.last_partner_offer_for_me[fits]
        if illegal == "forfeit":
            wild = rng.random(turns.size) < 0.05
            act[wild] = rng.integers(0, 5, size=int(wild.sum()))
            oA[wild] = rng.integers(0, 5, size=(int(wild.sum()), 3))
        said = rng.choice(np.array(TALKS, dtype=object), size=turns.size) if rules.message_length else None
        for row, game in enumerate(live):
            message = said[row] if said is not None else ""
            action = Action(Act(int(act[row])), tuple(oA[row].tolist()))
            broken = rule_against(states[game], action)
            states[game] = apply(states[game], action, message) if broken is None else forfeit(states[game], broken)
        table.step(decide(act, oA)._replace(messages=said))
        assert set(table.live.tolist()) == {i for i, s in enumerate(states) if not s.is_over}
    games = table.games()
    for i, state in enumerate(states):
        outcome = state.outcome
        assert outcome is not None
        assert games.ending[i] == outcome.ending
        assert tuple(games.scores[i]) == outcome.scores
        assert bool(games.deal[i]) == outcome.deal
        assert tuple(map(tuple, games.allocation[i])) == (outcome.allocation or ((0, 0, 0), (0, 0, 0)))
        assert games.turns[i] == len(state.history)
        assert games.act[i, : games.turns[i]].tolist() == [a.act_type for a in state.history]
        assert games.oA[i, : games.turns[i]].tolist() == [list(a.oA) for a in state.history]
        assert (games.act[i, games.turns[i] :] == -1).all()
        assert not games.oA[i, games.turns[i] :].any()
        if rules.message_length and games.messages is not None:
            assert games.messages[i, : games.turns[i]].tolist() == list(state.messages)
            assert not any(games.messages[i, games.turns[i] :])
        else:
            assert games.messages is None and not any(state.messages)


def test_illegal_act_in_a_batch_names_the_game():
    scenarios = open_source("lewis").draw(np.random.default_rng(0), 8)
    table = GameBatch(scenarios)
    act, oA = np.zeros(8, dtype=np.int8), scenarios.counts.copy()
    oA[5, 1] += 1
    with pytest.raises(IllegalAct, match="first in game 5: PROPOSE"):
        table.step(decide(act, oA))
    assert table.turns_taken == 0 and table.open == 8
    table.step(decide(act, scenarios.counts))
    assert table.turns_taken == 1


@pytest.mark.parametrize(
    ("act", "oA", "complaint"),
    [
        (np.zeros(3, dtype=np.int8), np.zeros((2, 3), dtype=np.int8), "need act_type"),
        (np.zeros(2), np.zeros((2, 3), dtype=np.int8), "whole numbers"),
        (np.array([0, 5]), np.zeros((2, 3), dtype=np.int8), "0..4"),
    ],
)
def test_invalid_decisions_raise(act, oA, complaint):
    scenarios = pack([open_source("lewis").table.scenario(0)] * 2, "lewis")
    table = GameBatch(scenarios, illegal="forfeit")
    with pytest.raises(ValueError, match=complaint):
        table.step(decide(np.zeros(2), np.zeros((2, 3)))._replace(act_type=act, oA=oA))


def test_overflowing_claims_are_illegal():
    scenarios = pack([open_source("lewis").table.scenario(0)], "lewis")
    for claim in (-1, 5, 128, 257, 2**40):
        table = GameBatch(scenarios)
        with pytest.raises(IllegalAct):
            table.step(decide(np.zeros(1), np.zeros((1, 3)))._replace(oA=np.full((1, 3), claim)))
