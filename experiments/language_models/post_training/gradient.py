"""The gradient of expected points over the exact probabilities of all legal lines: nothing is sampled from the model.

Positions come from games that the model plays itself. In each, the model's probability of every legal line has a
gradient (:func:`.packing.line_log_probs`), and every line has an exact worth: what the best response to the partner
earns after it. The loss is the negated expectation of the worths. That is the gradient of an expert's cost-to-go (Sun
et al. 2017, AggreVaTeD, arXiv 1703.01030, section 3), not of the model's own returns, which would take a game for every
line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Doubles
from experiments.language_models.post_training.examples import SPLIT
from experiments.language_models.post_training.held_out import seated
from experiments.language_models.post_training.packing import line_log_probs, packed
from experiments.language_models.post_training.settings import PostTrainingConfig
from experiments.language_models.post_training.trainee import Trainee
from league.evaluation.matches import Witness
from partners.llm.diagnosis import ActValues, act_values_against
from partners.llm.prompt import Template
from partners.llm.reply import Legal, legal_rows


class Position(NamedTuple):
    """What the model was asked, and what each of its legal lines is worth, in the order of :meth:`Legal.actions`."""

    prompt: str
    legal: Legal
    worths: Doubles  # points of ten


def check_partners(config: PostTrainingConfig) -> None:
    """Raise :class:`InputError` for a partner against whom nothing is worth something exact: before any training."""
    source, rules = open_source("lewis", split=SPLIT), Rules(config.games.max_turns)
    for name in config.gradient.partners if config.gradient.steps else ():
        if act_values_against(seat_occupant(name), rules, source.prior, source.block(0, 0, 1).scenario(0)) is None:
            raise InputError(
                f"what an act is worth against {name} is not known exactly: name others in gradient.partners"
            )


def positions(config: PostTrainingConfig, template: Template, adapter: Path, step: int) -> list[Position]:
    """The positions that the model with ``adapter`` comes to on training scenarios, each prompt and partner once."""
    section, rules = config.gradient, Rules(config.games.max_turns)
    source = open_source("lewis", split=SPLIT)
    model = seated(config, adapter, temperature=1.0)
    found: dict[tuple[str, str], Position] = {}
    for number, name in enumerate(section.partners):
        partner = seat_occupant(name)
        table = source.block(config.seed, 1000 + step * len(section.partners) + number, section.scenarios)
        worths = ActValues(partner, rules, source.prior)
        for seat in (0, 1):
            witness = Witness(model)
            pair = (witness, partner) if seat == 0 else (partner, witness)
            played = rollout(pair, table, rules, seed=config.seed, index=(step, number, seat), prior=source.prior)
            for turns in witness.turns:
                rows = np.flatnonzero(played.turns > turns.turns_taken).tolist()
                for place, (text, legal) in enumerate(zip(template.render(turns), legal_rows(turns), strict=True)):
                    if (text, name) not in found:
                        scenario = table.scenario(rows[place])
                        of_action = worths.after_acts(scenario, turns.history.act[place], turns.history.oA[place])
                        values = np.array([of_action[action] for action in legal.actions()])
                        found[text, name] = Position(text, legal, values * 10 / scenario.pool_value(seat))
    return list(found.values())


def climb(
    trained: Trainee, open_positions: Sequence[Position], config: PostTrainingConfig, steps: range,
    tell: Callable[[str], None],
) -> None:  # fmt: skip
    """Take the steps ``steps``: each up the expected worth of the lines in some of the positions."""
    section, model = config.gradient, trained.read.model
    order = generator(config.seed, "positions", steps.start).permutation(len(open_positions))
    for step in steps:
        first = (step - steps.start) * section.states
        some = [open_positions[row] for row in np.take(order, range(first, first + section.states), mode="wrap")]
        losses = []
        for start in range(0, len(some), section.pack):
            part = some[start : start + section.pack]
            pack = packed(trained.prompts([each.prompt for each in part]), [trained.legal(each.legal) for each in part])
            probs = line_log_probs(model, pack).exp()
            worth = np.concatenate([each.worths - each.worths.max() for each in part])  # what is lost
            lost = -(probs * torch.tensor(worth, dtype=probs.dtype, device=probs.device)).sum() / len(some)
            lost.backward()  # type: ignore[no-untyped-call]
            losses.append(lost.detach())
        mean = trained.step(losses, section.lr)
        tell(f"step {step + 1}: an act loses {mean * len(losses):.2f} points on average")
