"""Archives: generated programs that a learner practices with again, selected by scores of its frozen weights.

After every few rounds the archive's own programs and newly drawn candidates are scored, and the best ones stay. The
learner plays every program in both seats on the same scenarios with the same noise. Scores by ``by``:

- ``uniform``: none. The archive is drawn once and stays: the control for the others.
- ``regret``: points of an exact best response to the program minus those of the learner (the regret of unsupervised
  environment design: Dennis et al. 2020, arXiv 2012.02096; selection as in prioritized level replay: Jiang et al. 2021,
  arXiv 2110.02439). Only for deterministic programs without memory, about one in 27; others are not candidates. The
  best response knows the program, the learner does not: the price of that is not subtracted, because a best response to
  all programs at once cannot be computed.
- ``learnability``: p (1 - p), p the share of games that the learner succeeds in (Rutherford et al. 2024, arXiv
  2408.15099). Success: at least its mean over all scored programs on that scenario and in that seat.
- ``novelty``: the program of the highest learnability in each cell of a grid over what the program takes in the end,
  how late it concedes, and how much it responds (MAP-Elites: Mouret, Clune 2015, arXiv 1504.04909).

A selection is a member whose spec lists the programs, so a resumed run continues with the newest one. Everything is a
function of settings, seed, round and weights. P = programs, S = scenarios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dond_marl.occupants import parse_spec, spec_name
from dond_marl.randomness import generator
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Doubles, Partner
from dond_marl.statistics import points_of_ten
from dond_marl.yardsticks.best_response import best_response_value
from dond_marl.yardsticks.contexts import contexts_of
from league.settings.learners import ArchiveConfig
from league.settings.read import Config
from league.settings.sections import EnvConfig
from league.standings.history import History
from league.tasks.seating import SEATING
from league.tasks.values import Block, Decision, Entrant, LearnerState, Member, Place
from partners.scripted.generated import PROGRAMS, Generated, are_plain, dials_of, digest_of

PLAIN = 64  # programs drawn for each candidate that has to be plain, of which about 2.4 are
SCORED = {"regret": "regret", "learnability": "learnability", "novelty": "learnability in its cell"}


def select_programs(
    config: Config, history: History, states: Mapping[str, LearnerState], place: Place
) -> tuple[tuple[Member, ...], tuple[Decision, ...]]:
    """The selections that join after the last round of ``history``, and a decision for each program in or out.

    ``states``: the learners after that round. An archive without changes has no new selection.
    """
    born, decisions = list[Member](), list[Decision]()
    members = {member.name: member for member in history.members}
    for number, archive in enumerate(config.archives):
        before = [m for m in members.values() if m.role == "archive" and m.name == archive.member_name(m.born)]
        if history.round % archive.every or (before and archive.by == "uniform"):
            continue
        own = programs_of(before[-1]) if before else ()
        drawn = _candidates(archive, generator(config.league.seed, "archive", number, history.round))
        programs = tuple(dict.fromkeys((*own, *drawn)))
        if archive.by == "uniform":
            scores = np.zeros(len(programs))
        else:
            learner = _frozen(Entrant(members[archive.of], states[archive.of].blob), place)
            scores = scores_of(archive, programs, learner, config.env, config.league.seed)
        order = np.argsort(-scores, kind="stable")  # of equals, those of the archive first
        chosen = tuple(programs[i] for i in order[: archive.size] if scores[i] > -np.inf)
        if set(chosen) == set(own):
            continue
        spec = spec_name({"kind": "generated", "one_of": list(chosen), "digest": digest_of(*chosen)})
        name = archive.member_name(history.round)
        born.append(Member(name, spec, "archive", parent=archive.of, born=history.round))
        for rank, i in enumerate(order.tolist(), start=1):
            if (programs[i] in chosen) != (programs[i] in own):
                decisions.append(_decision(archive, programs[i], programs[i] in chosen, scores[i], rank, len(programs)))
    return tuple(born), tuple(decisions)


def programs_of(selection: Member) -> tuple[int, ...]:
    """The programs of a member of the role ``archive``, the one with the highest score first."""
    assert selection.spec is not None
    return tuple(parse_spec(selection.spec)[1]["one_of"])


def scored_games(config: Config) -> int:
    """Games that are played for scores in the whole league, at most."""
    return sum(
        config.schedule.occasions(each.every) * (each.size + each.candidates) * 2 * each.scenarios
        for each in config.archives
        if each.by != "uniform"
    )


def scores_of(archive: ArchiveConfig, programs: Sequence[int], learner: Partner, env: EnvConfig, seed: int) -> Doubles:
    """The score of each program, ``[P]``; minus infinity for one that cannot be selected."""
    source, scenarios = SEATING.source(env), SEATING.scenarios(env, seed, Block(0, archive.scenarios))
    points = np.stack([play_program(learner, each, scenarios, env, source.prior, seed) for each in programs])
    if archive.by == "regret":
        best = np.array([best_points(each, env, seed, archive.scenarios) for each in programs])
        regret: Doubles = best - points.mean(axis=(1, 2))
        return regret
    learnable = learnability(points)
    return elites(programs, learnable, archive.size) if archive.by == "novelty" else learnable


def play_program(
    learner: Partner, program: int, scenarios: Scenarios, env: EnvConfig, prior: str, seed: int
) -> Doubles:
    """Points of ten of ``learner`` against ``program``, by its seat, ``[2, S]``; one game on each scenario."""
    other, points = Generated(program), []
    for seat in (0, 1):
        games = rollout(
            (learner, other) if seat == 0 else (other, learner),
            scenarios,
            env.rules(),
            seed=seed,
            index=(seat,),
            prior=prior,
            reveal_partner_utilities=env.reveal_partner_utilities,
        )
        points.append(points_of_ten(games.scores, scenarios.pool_values)[:, seat])
    return np.stack(points)


@lru_cache(maxsize=8192)
def best_points(program: int, env: EnvConfig, seed: int, size: int) -> float:
    """Points of ten of the exact best response to a plain ``program``, mean of both seats.

    Expectation over the values that the program may have, given what the seat sees in the first ``size`` scenarios.
    """
    scenarios, prior = SEATING.scenarios(env, seed, Block(0, size)), SEATING.source(env).prior
    contexts = [contexts_of(prior, scenarios.counts, scenarios.utilities[:, seat]) for seat in (0, 1)]
    partner = Generated(program)
    values = [best_response_value(partner, each, seat, env.rules(), prior=prior) for seat, each in enumerate(contexts)]
    return sum(values) / 2


def learnability(points: Doubles) -> Doubles:
    """The variance of success, p (1 - p), ``[P]`` in 0..0.25, from the learner's ``points[P, 2, S]``."""
    succeeds = (points >= points.mean(axis=0)).mean(axis=(1, 2))
    variance: Doubles = succeeds * (1 - succeeds)
    return variance


def elites(programs: Sequence[int], quality: Doubles, size: int) -> Doubles:
    """``quality[P]`` of the best program of each cell, of at most ``size`` cells; minus infinity for the others."""
    each = int(np.cbrt(size + 0.5))  # cells of a side
    cells = np.minimum((traits_of(programs) * each).astype(np.int64), each - 1)
    order = np.lexsort((-quality, *cells.T))
    first = np.append(True, (np.diff(cells[order], axis=0) != 0).any(axis=1))
    best = np.full(len(programs), -np.inf)
    best[order[first]] = quality[order[first]]
    return best


def traits_of(programs: Sequence[int]) -> Doubles:
    """What each program takes in the end, how late it concedes, and how much it responds, ``[P, 3]`` in 0..1."""
    dials = dials_of(np.array(programs, dtype=np.uint64))
    reserve = dials["end"] * dials["fold"] * dials["reserve"]
    late = 1 - 0.5 ** dials["exponent"]  # share of the concession that is left after half of the game
    responds = dials["reciprocity"] + dials["firmness"] + np.abs(dials["yielding"]) + dials["pressed"]
    return np.clip(np.stack([reserve, late, responds], axis=1), 0.0, 1.0)


def _frozen(learner: Entrant, place: Place) -> Partner:
    """The learner with its present weights, in one torch thread, as in practice."""
    import torch  # only where a network plays

    torch.set_num_threads(1)
    return SEATING.partner(learner, place)


def _candidates(archive: ArchiveConfig, rng: np.random.Generator) -> list[int]:
    """New programs; for regret plain ones."""
    number = archive.size if archive.by == "uniform" else archive.candidates
    plain = archive.by == "regret"
    drawn: NDArray[np.uint64] = rng.integers(PROGRAMS, size=number * PLAIN if plain else number, dtype=np.uint64)
    programs: list[int] = (drawn[are_plain(drawn)] if plain else drawn)[:number].tolist()
    return programs


def _decision(archive: ArchiveConfig, program: int, enters: bool, score: float, rank: int, among: int) -> Decision:
    """That a program enters the archive or leaves it, with its digest and score."""
    why = "drawn uniformly"
    if archive.by != "uniform":
        value = "another is the best of its cell" if score == -np.inf else f"{score:.3f}"
        why = f"{SCORED[archive.by]} {value}, number {rank} of {among}"
    verb = "enters" if enters else "leaves"
    return Decision(
        "archive", f"program {program}", enters, f"{verb} {archive.name}: {why}; digest {digest_of(program)}"
    )
