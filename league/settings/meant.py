"""What somebody meant who wrote a key or a value that there is not, or named a config of another command."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from league.settings.layers import Layer
from league.settings.yaml import Path

OTHER_NAMES = {  # of keys, in other libraries
    "learning_rate": "lr",
    "gae_lambda": "lam",
    "lambda": "lam",
    "clip_range": "clip",
    "clip_coef": "clip",
    "n_epochs": "epochs",
    "update_epochs": "epochs",
    "batch_size": "minibatch",
    "minibatch_size": "minibatch",
    "entropy": "ent",
    "ent_coef": "ent",
    "entropy_coef": "ent",
    "vf_coef": "vf",
    "value_coef": "vf",
    "max_grad_norm": "grad_norm",
    "n_steps": "rollout",
    "n_envs": "num_envs",
    "total_timesteps": "num_train_steps",
    "steps": "num_train_steps",
    "algorithm": "algo",
    "opponent": "partner",
}
OF_LEAGUES = ("league", "members", "learners", "stages", "gate", "heldout")
OF_TRAININGS = ("algo", "num_train_steps")


def another_command(layer: Layer, model: type[BaseModel]) -> str | None:
    """What to do with a file that is meant for another command than the one that reads ``model``; ``None``: it fits."""
    file = layer.start.label.rpartition(":")[0]
    known, held = model.model_fields, [key for key in OF_LEAGUES if key in layer.data]
    if "league" not in known and len(held) > 1:
        return f"this is a league's config, it has {', '.join(held)}: use dond league --config {file}"
    training = layer.data.get("training")
    held = [key for key in OF_TRAININGS if isinstance(training, dict) and key in training]
    if "league" in known and "members" not in layer.data and held:
        return f"this is a training's config, it has training.{held[0]}: use dond train --config {file}"
    return None


def meant(path: Path, model: type[BaseModel]) -> str:
    """Which key may have been meant by that at ``path``: one like it beside it, or one of that name in a section."""
    key = str(path[-1])
    beside = fields_at(path[:-1], model)
    if key in OTHER_NAMES and OTHER_NAMES[key] in beside:
        return f" (did you mean {OTHER_NAMES[key]!r}?)"
    if text := near(key, beside):
        return text
    for section in model.model_fields:
        there = fields_at((section,), model)
        for name in (key, OTHER_NAMES.get(key)):
            if name in there and isinstance(model.model_fields[section].annotation, type(BaseModel)):
                return f" (did you mean '{section}.{name}'?)"
    return ""


def near(value: object, known: Iterable[str]) -> str:
    """The one of ``known`` that is spelled most like a text, as a question; empty where none is."""
    found = difflib.get_close_matches(value, list(known), n=1) if isinstance(value, str) and len(value) < 100 else []
    return f" (did you mean {found[0]!r}?)" if found else ""


def fields_at(path: Path, model: Any) -> dict[str, FieldInfo]:
    """The keys that may stand at ``path`` of a ``model``; none where that is no section."""
    for step in path:
        if isinstance(step, int):  # an item of a list
            model = get_args(model)[0]
        elif isinstance(model, type(BaseModel)) and step in model.model_fields:
            model = model.model_fields[str(step)].annotation
    return dict(model.model_fields) if isinstance(model, type(BaseModel)) else {}
