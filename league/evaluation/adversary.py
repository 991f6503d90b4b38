"""Trained exploiter: a lower bound on what an adversary gains from any policy, with or without memory, random or not.

An exact best response is known for few policies (:mod:`league.evaluation.exploitability`). For the others a network is
trained against the policy alone, from the shipped expert's weights, and plays greedily afterwards. Nothing that it
earns can exceed the best response, so its gain is a lower bound of the exact one (docs/BENCHMARK.md has how near it
comes). The budget and all hyperparameters are constants, so that gains of different policies compare (Timbers et al.
2022, *Approximate exploitability: learning a best response*, arXiv 2004.09677).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from dond_marl.game import Rules
from dond_marl.scenarios.sources import ScenarioSource, open_source
from dond_marl.seats import Partner
from dond_marl.solvers.values import Pair, pair_points, prior_scenarios, self_play_values
from league.play.backends import in_processes
from partners.learning.first_weights import first_network
from partners.learning.learners import Learner
from partners.learning.practice import LabelsFrom, Opponent, Practice, Session
from partners.learning.settings import LearnerSettings
from partners.network.checkpoint import load_checkpoint
from partners.network.occupants import expert_path
from partners.network.partner import NetworkPartner

DECISIONS = 200_000  # own decisions of one training
SEEDS = (1, 2, 3)  # of the trainings
RULES = Rules()
START = "expert"  # initial weights: the shipped expert's, with inputs for the history
UPDATE = 1_024  # own decisions per update, at least
GAMES = 256  # per block of an update
# Critic and belief heads learn from the policy's values, which the exploiter does not see when it plays.
SETTINGS = LearnerSettings(
    lr=3e-3, gamma=1.0, epochs=8, minibatch=256, ent=0.003, belief=0.2, critic="both", anneal=True
)
CHOICE, MEASUREMENT = 1, 2  # noise of the games in which a seed is chosen, and in which it is measured; self-play has 0


@cache
def _lewis() -> ScenarioSource:
    """All scenarios of ``lewis``, the distribution of NashConv: for training and for measurement."""
    return open_source("lewis", split="all")


def train_exploiter(policy: Partner, seed: int, decisions: int = DECISIONS) -> NetworkPartner:
    """A network trained by PPO against ``policy`` in both seats, greedy; a function of its arguments.

    ``decisions``: the least number of own decisions in training. Raises what
    :meth:`~partners.learning.practice.Session.step` raises.
    """
    torch.set_num_threads(1)  # sums, and so weights, depend on the number of threads
    shape = replace(load_checkpoint(expert_path()).network().shape, history="flat", beliefs=True)
    learner = Learner(
        first_network(shape, START, disagree=RULES.disagree, seed=seed),
        replace(SETTINGS, total_decisions=decisions),
        seed,
    )
    # A label is noise to a policy that declares to read none; others, networks among them, may be exploited by labels.
    labels: LabelsFrom = "readers" if getattr(policy, "insist_is_propose", False) else "all"
    plan = Practice(_lewis(), RULES, UPDATE, GAMES, seed, privileged=True, labels_from=labels)
    session = Session(learner=learner, plan=plan, opponents=[Opponent(policy, 1.0)])
    while learner.decisions < decisions:
        session.step()
    return NetworkPartner(learner.network, greedy=True)


def exploiter_points(make_policy: Callable[[], Partner], seed: int, decisions: int) -> tuple[Pair, Pair]:
    """Points of ten by seat of one trained exploiter: in the games that choose a seed, and in those that count."""
    policy = make_policy()
    exploiter, scenarios = train_exploiter(policy, seed, decisions), prior_scenarios(_lewis())

    def points(noise: int) -> Pair:
        opens = pair_points((exploiter, policy), scenarios, RULES, exact=False, index=(noise, 0))
        answers = pair_points((policy, exploiter), scenarios, RULES, exact=False, index=(noise, 1))
        return opens[0], answers[1]

    chosen = points(CHOICE)
    return chosen, chosen if policy.traits.deterministic else points(MEASUREMENT)


def adversary_gains(
    make_policy: Callable[[], Partner],
    *,
    seeds: Sequence[int] = SEEDS,
    decisions: int = DECISIONS,
    workers: int = 1,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """The gain of trained exploiters over the policy's self-play, points of ten over all scenarios, as plain values.

    Lower bounds of the gains of best responses by seat, and of NashConv, their sum. In each seat the training that
    earns most counts. If the policy is deterministic, points are exact; otherwise every scenario is played once, and
    the choice and the measurement have different noise. A gain is not below 0: the policy itself is an adversary.

    ``make_policy``: makes the policy, in each of the ``workers`` processes, which change no figure.
    """
    calls = [(make_policy, seed, decisions) for seed in seeds]
    found: dict[int, tuple[Pair, Pair]] = {}
    for i, points in in_processes(exploiter_points, calls, workers):
        found[i] = points
        report(f"{len(found)} of {len(seeds)} exploiters")
    itself = self_play_values(make_policy(), _lewis(), RULES)
    best = [max(range(len(seeds)), key=lambda i: found[i][0][seat]) for seat in (0, 1)]
    response = [max(found[best[seat]][1][seat], itself[seat]) for seat in (0, 1)]
    gain = [response[seat] - itself[seat] for seat in (0, 1)]
    return {
        "self_play": list(itself),
        "response": response,
        "gain": gain,
        "at_least": sum(gain),
        "decisions": decisions,
        "seeds": list(seeds),
        "chosen": [seeds[i] for i in best],
    }
