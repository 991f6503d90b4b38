"""Whom a learner of these settings meets, transitively: what its checkpoints note, and what is refused beforehand.

Whoever plays a league has met all of its members: those that it practices against, those that its gate judges it by,
the other learners with whatever whispered to them and whatever they began as, and everybody in their pasts. Members
that are held out are met at the end only, when nobody learns any more. See :mod:`partners.provenance`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from dond_marl.occupants import Spec, parse_spec, spec_name
from league.settings.read import Config, dump
from league.settings.sections import EnvConfig
from league.settings.training import HintsConfig, TrainConfig
from partners.learning.first_weights import as_occupant
from partners.network.checkpoint_files import CheckpointError
from partners.provenance import NOBODY, Ancestry, Known, known, people, refuse_past, scenarios, without_files

HEURISTIC = "heuristic"  # whose greedy act stands for an expert that is missing


def past_of_training(config: TrainConfig) -> Ancestry:
    """Everybody in the past of what a training makes. Raises what :func:`partners.provenance.known` raises."""
    if config.training.algo == "bc":  # one part taught it, the other said when to stop
        return NOBODY.meets([people("train"), people("val")])
    return past_of_learner(config.env, config.training.init_from, config.hints)


def past_of_learner(env: EnvConfig, init_from: str | None, hints: HintsConfig | None = None) -> Ancestry:
    """Everybody in the past of who starts with ``init_from`` and practices in ``env`` under ``hints``; raises likewise.

    The scenarios too, where they hold views that are held out.
    """
    met = map(known, [env.partner, *([] if hints is None else _hinters(hints))])
    return _beginning(init_from, known).meets([*met, *scenarios(env.scenarios, env.split)])


def pasts_of_league(config: Config, *, files: bool = True) -> dict[str, Ancestry]:
    """Everybody in the past of each learner of a league, by name, as they will be from its first round on.

    ``files``: the weights that the settings name are those of now; otherwise they are somebody whose past is not known,
    as in a run of long ago. Raises what :func:`partners.provenance.known` raises.
    """
    known_as = known if files else without_files
    fixed = [known_as(member.spec) for member in (*config.members, *config.gate)]
    for env in (config.env, *(stage.env.over(config.env) for stage in config.curriculum)):
        fixed += scenarios(env.scenarios, env.split)
    alone: dict[str, Ancestry] = {}
    for learner in config.learners:
        hinters = dict.fromkeys(
            spec_name({"kind": kind, **{key: value for key, value in given.items() if value is not None}})
            for stage in config.curriculum
            for kind, given in map(parse_spec, _hinters(stage.hints_of(learner.name)))
        )
        alone[learner.name] = _beginning(learner.init_from, known_as).meets([*fixed, *map(known_as, hinters)])
    named = {name: Known(learner_identity(config, name), past) for name, past in alone.items()}
    return {name: past.meets(other for whose, other in named.items() if whose != name) for name, past in alone.items()}


def learner_identity(config: Config, name: str) -> str:
    """What a learner of a league is called in everybody's past, at all times of its life: by its league's settings."""
    league = hashlib.sha256(dump(config.portable()).encode()).hexdigest()[:16]
    return spec_name({"kind": "learner", "league": league, "name": name})


def refuse_training(config: TrainConfig) -> None:
    """Raise :class:`partners.provenance.ProvenanceError` where the learner would meet the roster test."""
    refuse_past(past_of_training(config), "the learner")


def refuse_league(config: Config) -> None:
    """Raise :class:`partners.provenance.ProvenanceError` where a learner of the league would meet the roster test."""
    for name, past in pasts_of_league(config).items():
        refuse_past(past, name)


def _hinters(hints: HintsConfig) -> Iterator[Spec]:
    """Who whispers, as an occupant; chance is nobody."""
    if hints.mode == "expert":
        try:
            known(hints.expert)
            yield hints.expert
        except CheckpointError:
            yield HEURISTIC
    elif hints.mode == "llm":
        from league.tasks.hinters import llm_spec  # loads PyTorch

        yield llm_spec(hints)


def _beginning(init_from: str | None, known_as: Callable[[Spec], Known]) -> Ancestry:
    """The past of a learner before it has met anybody."""
    try:
        return NOBODY if init_from is None else NOBODY.descends(known_as(as_occupant(init_from)))
    except CheckpointError:  # whoever makes the network says so, and what to do
        return NOBODY
