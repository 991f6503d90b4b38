"""Provenance of learners, from the settings: the opponents that a learner trains with, transitively.

A league's learner has trained with all members of the league: those it practices against, those its gate judges it by,
the other learners with their hint providers and first weights, and everything in the provenance of these. Held-out
members are played at the end only, when no learner learns any more. See :mod:`partners.provenance`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from dond_marl.occupants import Spec
from league.settings.read import Config
from league.settings.sections import EnvConfig, HintsConfig
from league.settings.training import TrainConfig
from partners.learning.first_weights import as_occupant
from partners.network.checkpoint_files import CheckpointError
from partners.provenance import (
    NO_PAST,
    UNKNOWN_PAST,
    Ancestry,
    OccupantProvenance,
    held_out_scenarios,
    human_dialogues,
    identity,
    provenance_of,
)

HEURISTIC = Spec("heuristic")  # its greedy act replaces a missing expert's


def training_ancestry(config: TrainConfig) -> Ancestry:
    """The provenance of a training's policy. Raises what :func:`partners.provenance.provenance_of` raises."""
    if config.training.algo == "bc":  # people's dialogues: one part to learn from, the other for early stopping
        return NO_PAST.add_opponents([human_dialogues("train"), human_dialogues("val")])
    return learner_ancestry(config.env, config.training.init_from, config.hints)


def learner_ancestry(env: EnvConfig, init_from: str | None, hints: HintsConfig | None = None) -> Ancestry:
    """The provenance of a learner that starts with ``init_from`` and practices in ``env`` under ``hints``.

    It includes the scenario source, if that holds held-out views. Raises what
    :func:`partners.provenance.provenance_of` raises.
    """
    opponents = map(provenance_of, [env.partner, *([] if hints is None else _hint_occupants(hints))])
    return _first_ancestry(init_from).add_opponents([*opponents, *held_out_scenarios(env.scenarios, env.split)])


def league_ancestries(config: Config) -> dict[str, Ancestry]:
    """The provenance of each learner of a league by name, fixed from its first round on.

    Raises what :func:`partners.provenance.provenance_of` raises.
    """
    fixed = [provenance_of(member.spec) for member in (*config.members, *config.gate)]
    for env in (config.env, *(stage.env.apply_to(config.env) for stage in config.curriculum)):
        fixed += held_out_scenarios(env.scenarios, env.split)
    alone: dict[str, Ancestry] = {}
    for learner in config.learners:
        hinters = [spec for stage in config.curriculum for spec in _hint_occupants(stage.hints_of(learner.name))]
        first = _first_ancestry(learner.init_from)
        if learner.train is not None:  # its code may have learned from anything
            first = first.add_parent(OccupantProvenance(learner.train.text, UNKNOWN_PAST))
        alone[learner.name] = first.add_opponents([*fixed, *map(provenance_of, hinters)])
    if len(alone) < 2:
        return alone
    league = config.digest
    named = {name: OccupantProvenance(_identity(league, name), past) for name, past in alone.items()}
    return {
        name: past.add_opponents(opponent for other, opponent in named.items() if other != name)
        for name, past in alone.items()
    }


def occupants_of(config: Config | TrainConfig) -> dict[str, str]:
    """The identities of a run's fixed members or partner, and of its hint providers, by names for messages."""
    specs: dict[str, Iterable[Spec]]
    if isinstance(config, TrainConfig):
        specs = {"env.partner": [config.env.partner], "the hints": _hint_occupants(config.hints)}
    else:
        specs = {f"member {m.name}": [m.spec] for m in (*config.members, *config.gate, *config.heldout)}
        for stage, learner in product(config.curriculum, config.learners):
            specs[f"the hints of {learner.name} in {stage.name}"] = _hint_occupants(stage.hints_of(learner.name))
    return {name: identity(spec) for name, several in specs.items() for spec in several}


def learner_identity(config: Config, name: str) -> str:
    """The name of a league's learner in provenance notes: a hash of the league's settings, and its name there."""
    return _identity(config.digest, name)


def _identity(league: str, name: str) -> str:
    return Spec("learner", {"league": league, "name": name}).text


def _hint_occupants(hints: HintsConfig) -> Iterator[Spec]:
    """The occupants that give hints; random hints have none."""
    if hints.mode == "expert":
        try:
            provenance_of(hints.expert)
            yield hints.expert
        except CheckpointError:
            yield HEURISTIC
    elif hints.mode == "llm":
        from league.play.hinters import llm_spec  # loads PyTorch

        yield llm_spec(hints)


def _first_ancestry(init_from: str | None) -> Ancestry:
    """The provenance of a learner before its first game: that of its first weights."""
    try:
        return NO_PAST if init_from is None else NO_PAST.add_parent(provenance_of(as_occupant(init_from)))
    except CheckpointError:  # reported, with advice, by the function that makes the network
        return NO_PAST
