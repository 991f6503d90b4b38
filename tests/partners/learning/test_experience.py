"""What a learner learns from is what happened: checked by playing the recorded games again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch

from dond_marl.batch import GameBatch, Games
from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import ScenarioSource, open_source
from dond_marl.seats import Decisions, Traits, decide
from dond_marl.statistics import TEN, points_of_ten
from hints import HintSchedule, RandomHinter
from partners.learning.experience import Experience, LearningSeat, join_experience
from partners.learning.practice import BlockDraws, Opponent, Practice, practice
from partners.network.heads import Factored
from partners.network.network import NetworkShape, PolicyNetwork

torch.set_num_threads(1)
LEWIS = open_source("lewis", split="train")
RULES = [Rules(10), Rules(10, "rejects"), Rules(7, "rejects"), Rules(2), Rules(1)]


def network(rules: Rules = Rules(), *, hints: bool = False, sharpness: float = 60.0) -> PolicyNetwork:
    made = PolicyNetwork(NetworkShape(max_turns=rules.max_turns, hints=hints, hidden=(32,)), seed=3)
    with torch.no_grad():
        made.head.weight.mul_(sharpness)
    return made


def played(rules: Rules, seat: int, other: object = "random", size: int = 300) -> tuple[Games, Experience | None]:
    """Games of a learning seat, what each seat earned in them, and its experience."""
    learner, partner = LearningSeat(network(rules)), seat_occupant(other)  # type: ignore[arg-type]
    scenarios = LEWIS.block(7, 0, size)
    games = rollout((learner, partner) if seat == 0 else (partner, learner), scenarios, rules, seed=7)
    return games, learner.experience(games, points_of_ten(games.scores, scenarios.pool_values) / TEN)


def own_turns(games: Games, game: int, seat: int) -> list[int]:
    return list(range(seat, int(games.turns[game]), 2))


@dataclass(frozen=True)
class Leaves:
    """Ends every game with its first word."""

    traits: ClassVar[Traits] = Traits(deterministic=True)

    def act(self, turns) -> Decisions:
        return decide(np.full(turns.size, Act.END), np.zeros((turns.size, 3)))


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("rules", RULES, ids=str)
def test_reward_is_at_last_own_decision(rules, seat):
    games, experience = played(rules, seat)
    if rules.max_turns == 1 and seat == 1:
        assert experience is None
        return
    assert experience is not None
    earned = games.scores[:, seat] / games.scenarios.pool_values[:, seat]
    expected = np.zeros(experience.reward.shape)
    laid = np.zeros(experience.reward.shape, dtype=bool)
    enders = set()
    for game in range(games.size):
        own = own_turns(games, game, seat)
        laid[: len(own), game] = True
        if own:
            expected[len(own) - 1, game] = earned[game]
            enders.add(int(games.turns[game] - 1) % 2)
    assert experience.reward.numpy() == pytest.approx(expected, abs=1e-7)
    assert (experience.is_decision.numpy() == laid).all()
    assert experience.size == laid.sum() == sum(len(own_turns(games, game, seat)) for game in range(games.size))
    assert rules.max_turns < 3 or enders == {0, 1}, "games must end by either seat's act for this to say much"
    assert (experience.seat == seat).all()


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("rules", RULES[:4], ids=str)
def test_experience_matches_replay(rules, seat):
    games, experience = played(rules, seat)
    assert experience is not None
    made = network(rules)
    table, size = GameBatch(games.scenarios, rules), games.size
    row_of = {int(place): row for row, place in enumerate(experience.slot)}
    compared = 0
    while table.open:
        live, taken = table.live, table.turns_taken
        if table.seat == seat:
            turns = table.turns()
            rows = [row_of[taken // 2 * size + int(game)] for game in live]
            assert (experience.features[rows].numpy() == made.adapter.encode(turns)).all()
            assert (experience.mask[rows].numpy() == made.mask(turns)).all()
            act = games.act[live, taken]
            offers = act <= Act.INSIST
            assert (experience.act[rows].numpy() == act).all()
            assert (experience.oA[rows].numpy()[offers] == games.oA[live, taken][offers]).all()
            compared += len(rows)
        table.step(decide(games.act[live, taken], games.oA[live, taken]))
    assert compared == experience.size


def test_experience_holds_log_probs_and_values():
    _, experience = played(Rules(), 0)
    assert experience is not None
    made = network()
    with torch.no_grad():
        logits, value = made(experience.features)
    taken = Factored(logits, experience.mask).log_probs(experience.act, experience.oA)
    assert torch.allclose(taken.log_prob, experience.log_prob, atol=1e-5)
    assert torch.allclose(value, experience.value, atol=1e-5)


def test_no_experience_without_decisions():
    assert played(Rules(), 1, Leaves())[1] is None
    assert played(Rules(1), 1)[1] is None


def test_join_experience_keeps_places():
    parts = [
        part
        for rules, seat, size in ((Rules(7), 0, 30), (Rules(7), 1, 20), (Rules(7, "rejects"), 0, 10))
        if (part := played(rules, seat, size=size)[1]) is not None
    ]
    whole = join_experience(parts)
    assert whole.size == sum(part.size for part in parts) and whole.reward.shape == (4, 60)
    dense, row, column = whole.dense(whole.log_prob), 0, 0
    for part in parts:
        length, games = part.reward.shape
        block = slice(column, column + games)
        assert torch.equal(dense[:length, block], part.dense(part.log_prob))
        assert (
            torch.equal(whole.is_decision[:length, block], part.is_decision)
            and not whole.is_decision[length:, block].any()
        )
        assert torch.equal(whole.reward[:length, block], part.reward)
        assert torch.equal(whole.seat[block], part.seat)
        assert torch.equal(whole.features[row : row + part.size], part.features)
        row, column = row + part.size, column + games
    assert same(join_experience(parts[:1]), parts[0])


# -- practice --------------------------------------------------------------------------------------------------------


def plan(decisions: int = 500, games: int = 64, source: ScenarioSource = LEWIS, rules: Rules = Rules()) -> Practice:
    return Practice(source, rules, decisions=decisions, games=games, seed=11)


def opponents(*names: str) -> list[Opponent]:
    return [Opponent(seat_occupant(name), 1 / len(names)) for name in names]


def same(one: Experience, two: Experience) -> bool:
    assert one.targets is None and two.targets is None
    return all(torch.equal(mine, theirs) for mine, theirs in zip(one, two, strict=True) if mine is not None)


@pytest.mark.parametrize("games", [3, 64])
def test_practice_collects_enough_decisions(games):
    experience, score = practice(
        network(), opponents("heuristic"), plan(decisions=200, games=games), update=0, games_before=0
    )
    last = 200 + games * 5  # one more block would have been one too many
    assert 200 <= experience.size < last
    assert score.games % games == 0 and score.games >= experience.reward.shape[1]
    assert set(experience.seat.tolist()) == {0, 1}
    # All decisions of a game are there: own decisions come first, without gaps, and the last one is paid.
    laid = experience.is_decision
    assert (laid[:-1] | ~laid[1:]).all()
    last_own = torch.cat([~laid[1:], torch.ones_like(laid[:1])]) & laid
    assert not experience.reward[~last_own].any()
    assert experience.reward.sum().item() * TEN == pytest.approx(score.points * score.games, rel=1e-5)
    assert 0 < score.deals < 1 and score.turns > 1


def test_practice_is_deterministic():
    def collected(update: int, games_before: int, partner: str = "random") -> Experience:
        return practice(network(), opponents(partner), plan(), update=update, games_before=games_before)[0]

    first = collected(3, 640)
    collected(0, 0)  # what was practiced in between is of no account
    assert same(first, collected(3, 640))
    assert not same(first, collected(4, 640)) and not same(first, collected(3, 704))


def test_next_update_continues_scenarios():
    played_out = plan(decisions=1, games=40)
    counts = []
    for update in range(4):
        experience, score = practice(network(), opponents("nice"), played_out, update=update, games_before=40 * update)
        assert score.games == 40
        opening = experience.features[experience.slot < experience.reward.shape[1]]
        counts.append(opening[:, :6].numpy())
    shown = np.concatenate(counts)
    scenarios = LEWIS.block(11, 0, 160)
    seats = np.tile(np.repeat([0, 1], 20), 4)
    mine = scenarios.utilities[np.arange(160), seats]
    assert (np.rint(shown * [4, 4, 4, 10, 10, 10]) == np.concatenate([scenarios.counts, mine], axis=1)).all()


@pytest.mark.parametrize(("names", "hinted"), [(("random",), False), (("random", "zeuthen", "heuristic"), True)])
def test_batched_blocks_equal_single_blocks(names, hinted):
    """However many are guessed to be needed: fewer, as many, or more than turn out to be."""

    def collected(own_turns: float):
        return practice(
            network(hints=hinted),
            opponents(*names),
            plan(decisions=500, games=40),
            update=2,
            games_before=80,
            hints=HintSchedule(RandomHinter()) if hinted else None,
            decisions_per_game=own_turns,
        )

    one_by_one, score = collected(0.0)
    for guess in (0.7, 9.0):
        experience, again = collected(guess)
        assert same(one_by_one, experience) and again == score


@pytest.mark.parametrize("reveal", [False, True])
def test_practice_reveals_values_where_its_plan_says_so(reveal):
    made = PolicyNetwork(NetworkShape(hidden=(8,), partner_utilities=True))
    shown = replace(plan(decisions=50), reveal_partner_utilities=reveal)
    found, _ = practice(made, opponents("heuristic"), shown, update=0, games_before=0)
    assert made.adapter.pieces[2] == ("partner_utilities", 3)
    assert (found.features[:, 6:9].sum(dim=1) > 0).all().item() == found.features[:, 6:9].any().item() == reveal


def test_opponents_follow_their_shares():
    tough, pushover = seat_occupant("tough"), seat_occupant("pushover")
    draws = BlockDraws([Opponent(tough, 0.8), Opponent(pushover, 0.2)], plan(), update=0)
    assert np.mean([draws.partner(block) is tough for block in range(500)]) == pytest.approx(0.8, abs=0.06)


def test_hints_reach_only_the_learner():
    deaf, _ = practice(network(hints=True), opponents("heuristic"), plan(), update=0, games_before=0)
    whisper = HintSchedule(RandomHinter(), cadence_k=2)
    told, _ = practice(network(hints=True), opponents("heuristic"), plan(), update=0, games_before=0, hints=whisper)
    assert not deaf.features[:, -10:].any()
    available = told.dense(told.features[:, -1])
    on_schedule = told.is_decision.clone()
    on_schedule[1::2] = False  # own steps 0, 2, 4
    assert torch.equal(available == 1, on_schedule)
    assert whisper.tally["asked"] == whisper.tally["available"] == on_schedule.sum()
