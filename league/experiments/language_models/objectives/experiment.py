"""Every model with every goal, every learner with every pay and seed: played, kept, and written as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dond_marl.occupants import spec_name
from dond_marl.records.files import write_whole
from league.experiments.kept import place, read, write
from league.experiments.language_models.objectives.models import answers_of, played, told, with_prompt
from league.experiments.language_models.objectives.settings import ObjectivesConfig

Row = dict[str, Any]


def perform(config: ObjectivesConfig, tell: Callable[[str], None]) -> list[Row]:
    """The rows of the results: learners, then models. What is kept in the output folder is not done again.

    Raises :class:`InputError` for a model that is none, or has a prompt of its own.
    """
    folder = Path(config.output_dir).expanduser()
    for occupant in config.models.occupants:  # before the learners, not after them
        with_prompt(occupant, folder)
    return [*_learners(config, folder, tell), *_models(config, folder, tell)]


def _learners(config: ObjectivesConfig, folder: Path, tell: Callable[[str], None]) -> list[Row]:
    section, rows = config.learners, []
    for pay in section.pays:
        training = section.hyperparameters(pay.reward).model_dump(mode="json")
        for seed in range(section.seeds):
            what = {"training": training, "decisions": section.decisions, "game": [config.max_turns, seed]}
            path = place(folder / "learners", what)
            found = read(path)
            if found is None:
                from league.experiments.language_models.objectives.learners import learned  # PyTorch

                found = learned(config, pay.reward, seed)
                write(path, found)
            tell(f"paid {pay.reward}, seed {seed}: {found['deals']:.0%} deals, welfare {found['welfare']:.2f}")
            rows.append({"learner": pay.name, "reward": pay.reward, "seed": seed, **found})
    return rows


def _models(config: ObjectivesConfig, folder: Path, tell: Callable[[str], None]) -> list[Row]:
    section, rows = config.models, []
    files = told(section, folder / "prompts") if section.occupants else {}
    for occupant in section.occupants:
        answers = answers_of(occupant, next(iter(files.values()))) if files else {}
        for number, (name, path) in enumerate(files.items()):
            what = {
                "occupant": spec_name(occupant), "answers": answers, "prompt": path.read_text(encoding="utf-8"),
                "luck": number, "game": [config.max_turns, config.seed, section.scenarios],
            }  # fmt: skip
            kept = place(folder / "models", what)
            found = read(kept)
            if found is None:
                found = played(config, occupant, number, path)
                write(kept, found)
            deals, welfare = (sum(found[key]) / len(found[key]) for key in ("deals", "welfare"))
            tell(f"{occupant[:40]} told {name}: {deals:.0%} deals, welfare {welfare:.2f}")
            rows.append({"model": spec_name(occupant), "goal": name, **found})
    return rows


def keep_rows(path: Path, config: ObjectivesConfig, rows: list[Row]) -> None:
    """One line of the settings, then a line each."""
    head = {"config": {**config.model_dump(mode="json"), "output_dir": None}}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(f"{json.dumps(row)}\n" for row in (head, *rows)))


def read_rows(path: Path) -> tuple[ObjectivesConfig, list[Row]]:
    """What :func:`keep_rows` wrote."""
    head, *rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    given = {name: value for name, value in head["config"].items() if value is not None}
    return ObjectivesConfig.model_validate(given, strict=False), rows
