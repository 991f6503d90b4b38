"""Language models that are told a goal in both seats: the prompt with another sentence, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import parse_spec, seat_occupant, spec_name
from dond_marl.randomness import generator
from dond_marl.records.files import write_whole
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.yardsticks.efficiency import efficiency_of
from dond_marl.yardsticks.metrics import points_of_ten
from league.experiments.language_models.objectives.settings import NULL, ModelsSection, ObjectivesConfig
from partners.llm.partner import LLMPartner
from partners.llm.prompt import load_template

_SENTENCES = {"brief": " for your own points alone.", "short": " You are paid your own points only."}


def told(section: ModelsSection, folder: Path) -> dict[str, Path]:
    """A prompt file for each goal; the null one is a copy of its goal's, byte for byte."""
    text = load_template(shipped=section.prompt).text
    of_prompt = _SENTENCES[section.prompt]
    if of_prompt not in text:
        raise InputError(f"the prompt {section.prompt} does not hold the sentence{of_prompt!r}: it cannot be replaced")
    first = " " if of_prompt.startswith(" You") else ". "
    sentences = {goal.name: goal.sentence for goal in section.goals}
    if section.twice:
        sentences[NULL] = sentences[section.twice]
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, sentence in sentences.items():
        files[name] = folder / f"{name}.txt"
        write_whole(files[name], text.replace(of_prompt, f"{first}{sentence}", 1))
    return files


def scenarios_of(config: ObjectivesConfig) -> Scenarios:
    """The held-out scenarios, then the same with the seats swapped."""
    table = open_source("lewis", split="test").table
    assert table is not None
    some = generator(config.seed, "objectives").permutation(table.size)[: config.models.scenarios]
    one = table.rows(np.sort(some))
    both = one.swapped()
    return Scenarios(np.concatenate([one.counts, both.counts]), np.concatenate([one.utilities, both.utilities]))


def with_prompt(occupant: str, path: Path) -> str:
    """The name of the same language model with another prompt. Raises :class:`InputError`."""
    kind, given = parse_spec(occupant)
    if kind != "llm" or "prompt" in given or "prompt_path" in given:
        raise InputError(f"a model of this experiment is written llm(...), without a prompt of its own; got {occupant}")
    return spec_name({"kind": kind, **given, "prompt_path": str(path)})


def answers_of(occupant: str, path: Path) -> dict[str, Any]:
    """All that shapes the answers of a language model beside its prompt: its weights by their SHA-256, parameters."""
    player = seat_occupant(with_prompt(occupant, path))
    return dict(player.client.identity) if isinstance(player, LLMPartner) else {}


def played(config: ObjectivesConfig, occupant: str, number: int, path: Path) -> dict[str, Any]:
    """Plain values, a figure a game: deals, and the points of both seats. ``number`` names the luck of the games."""
    table = scenarios_of(config)
    player = seat_occupant(with_prompt(occupant, path))
    games = rollout(
        (player, player), table, Rules(config.max_turns), seed=config.seed, index=(number,), prior="lewis"
    )  # fmt: skip
    points = points_of_ten(games.scores, table.wholes)
    tally = player.tally if isinstance(player, LLMPartner) else {}
    return {
        "deals": games.deal.astype(int).tolist(),
        "welfare": np.nan_to_num(efficiency_of(games).welfare).round(4).tolist(),
        "points": points.T.round(4).tolist(),
        "turns": games.turns.tolist(),
        "decisions": tally.get("decisions", 0),
        "legal": tally.get("free", 0),
    }
