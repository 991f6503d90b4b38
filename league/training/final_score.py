"""How well a learner plays once it has learned, beside what could be had."""

from __future__ import annotations

from dond_marl.scenarios.sources import Scenarios, ScenarioSource, open_source
from dond_marl.yardsticks.best_response import exact_by_answers
from dond_marl.yardsticks.metrics import Estimate
from league.evaluation.evaluate import BOTH, evaluate
from league.evaluation.matches import Result, score
from league.training.training import Training
from partners.network.partner import NetworkPartner

SCORED_SCENARIOS = 1_000  # where the source has no held-out part


def _scored_on(training: Training) -> tuple[ScenarioSource, Scenarios]:
    """Scenarios that the learner did not learn on, where its source has such."""
    source = training.source
    if source.name == "lewis":
        source = open_source("lewis", split="heldout")
    seed = training.config.training.seed
    return source, source.table if source.table is not None else source.block(seed, 0, SCORED_SCENARIOS)


def final_score(training: Training, *, greedy: bool) -> tuple[str, Result]:
    """What the learner scores against ``env.partner`` where it did not learn: scenarios in words, and the result."""
    env, (source, table) = training.config.env, _scored_on(training)
    result = score(
        NetworkPartner(training.learner.network, greedy=greedy),
        training.partner,
        table,
        env.rules(),
        seed=training.config.training.seed,
        prior=source.prior,
        reveal_partner_utilities=env.reveal_partner_utilities,
        whisper=None if training.whisper is None else training.whisper.whole(),
    )
    return source.label, result


def final_shares(training: Training) -> dict[str, Estimate]:
    """Greedy play without hints as a share of what the best response, and the Nash points, earn on the same scenarios.

    Empty where values are revealed or where the best response is not exact.
    """
    env, (source, _) = training.config.env, _scored_on(training)
    if env.reveal_partner_utilities or not exact_by_answers(training.partner, env.rules()) or source.table is None:
        return {}
    learner = NetworkPartner(training.learner.network, greedy=True)
    seen = evaluate(learner, training.partner, source, env.rules(), seed=training.config.training.seed)
    return {name: views[BOTH] for name, views in seen.shares.items()}
