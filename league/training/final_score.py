"""How well a trained learner plays, and what share that is of the best response's points."""

from __future__ import annotations

from dond_marl.yardsticks.best_response import exact_by_answers
from dond_marl.yardsticks.metrics import Estimate
from league.evaluation.evaluate import BOTH, evaluate, scenarios_of
from league.evaluation.matches import Result, Terms, heldout_terms, score
from league.training.training import Training
from partners.network.partner import NetworkPartner


def _terms(training: Training) -> Terms:
    """The held-out scenarios of the training's source where it has some, otherwise scenarios of the source."""
    source, env, seed = training.source, training.config.env, training.config.training.seed
    if source.name == "lewis":
        source = heldout_terms().source
    return Terms(source, scenarios_of(source, None, seed), env.rules(), seed, revealed=env.reveal_partner_utilities)


def final_score(training: Training, *, greedy: bool) -> tuple[str, Result]:
    """The learner against ``env.partner`` on held-out scenarios: their description, and the result."""
    learner, terms = NetworkPartner(training.learner.network, greedy=greedy), _terms(training)
    whisper = None if training.whisper is None else training.whisper.whole()
    return terms.source.label, score(learner, training.partner, terms, whisper)


def final_shares(training: Training) -> dict[str, Estimate]:
    """Greedy play without hints as a share of what the best response, and the Nash points, earn on the same scenarios.

    Empty where values are revealed or where the best response is not exact.
    """
    terms = _terms(training)
    if terms.revealed or not exact_by_answers(training.partner, terms.rules) or terms.source.table is None:
        return {}
    learner = NetworkPartner(training.learner.network, greedy=True)
    evaluation = evaluate(learner, training.partner, terms.source, terms.rules, seed=terms.seed)
    return {name: views[BOTH] for name, views in evaluation.shares.items()}
