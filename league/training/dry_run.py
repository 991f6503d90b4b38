"""The dry run of a training: its plan, time and costs; writes nothing and queries no costly service."""

from __future__ import annotations

import time
from collections.abc import Iterator

from dond_marl.occupants import spec_name
from dond_marl.seats import expensive_to_query
from league.evaluation.evaluate import scenarios_of
from league.evaluation.matches import heldout_terms
from league.settings.training import HintsConfig, TrainConfig
from league.tasks.devices import describe_practice_device
from league.tasks.hinters import JUDGE, QueryEstimate, hint_queries, hinter_spec, spelled_duration
from league.training.training import OWN_SHARE, Training, begin


def plan_of(config: TrainConfig) -> list[str]:
    """The lines of a training's plan with time and costs. Raises what :func:`begin` raises."""
    training = begin(config)
    settings, steps = config.training, config.training.num_train_steps
    queries = list(_questions(training))
    seconds = seconds_of(_free(config, training))
    lines = [
        f"{settings.algo} against {config.env.partner}, {training.source.label}: {steps:,} own decisions",
        *describe_practice_device(settings, [training.partner], config.env),
        f"about {spelled_duration(seconds)} on one core of this machine, where nothing else runs"
        + (", plus the queries of costly services:" if queries else ""),
        *map(str, queries),
    ]
    return [*lines, "measure a question first: dond llm-check SPEC"] if queries else lines


def _questions(training: Training) -> Iterator[QueryEstimate]:
    config, own = training.config, max(training.config.env.max_turns / OWN_SHARE, 1.0)
    decisions, most = config.training.num_train_steps, -(-config.env.max_turns // 2)
    games, partner = round(decisions / own), config.env.partner
    hinted = config.hints.mode == "llm"
    terms = heldout_terms().source if training.source.name == "lewis" else training.source
    closing = 2 * 2 * (config.hints.closing_scenarios if hinted else scenarios_of(terms, None, 0).size)
    after, whole = "of the closing evaluation", config.hints.model_copy(update={"dropout": 0.0})
    if hinted:
        spec = hinter_spec(config.hints)
        yield hint_queries(config.hints, games, decisions, "for hints in practice", spec)
        yield hint_queries(whole, closing, round(closing * own), f"for hints {after}", spec)
    if expensive_to_query(training.partner.traits):
        name = spec_name(partner)
        yield QueryEstimate(name, "which plays", games, decisions, games * most, name)
        yield QueryEstimate(name, f"which plays the games {after}", closing, round(closing * own), closing * most, name)
    if JUDGE in config.training.reward:
        yield QueryEstimate("a language model", "which judges", games, games, 2 * games)


def _free(config: TrainConfig, training: Training) -> TrainConfig:
    """The same training with free replacements for a costly partner, hint source or judge."""
    partner = "heuristic" if expensive_to_query(training.partner.traits) else config.env.partner
    reward = "own" if JUDGE in config.training.reward else config.training.reward
    return config.model_copy(
        update={
            "env": config.env.model_copy(update={"partner": partner}),
            "hints": HintsConfig() if config.hints.mode == "llm" else config.hints,
            "training": config.training.model_copy(update={"reward": reward}),
        }
    )


def seconds_of(config: TrainConfig) -> float:
    """Estimated CPU seconds of the training, extrapolated from the second update (the first includes start-up)."""
    training = begin(config)
    training.step()
    before, began = training.learner.decisions, time.process_time()
    training.step()
    spent = time.process_time() - began
    return spent * config.training.num_train_steps / (training.learner.decisions - before)
