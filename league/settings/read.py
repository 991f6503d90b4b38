"""Reading settings: a YAML file of differences from the defaults, with ``--set a.b=c`` options over it.

All mistakes are reported at once (:class:`ConfigError`), each with file, line, key, the value and what is allowed.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from dond_marl.errors import InputError
from league.settings.layers import Complaint, Layer, command_line_layer, file_layer, merge, text_layer
from league.settings.learners import LearnerConfig, StageConfig
from league.settings.rosters import LISTS, ZOO, met_too_early, repeated, written_out
from league.settings.sections import (
    UNBOUND,
    BackendConfig,
    EnvConfig,
    LeagueConfig,
    LoggingConfig,
    MemberConfig,
    Schedule,
    Section,
    wrong,
)
from league.settings.training import Hyperparameters
from league.settings.yaml import LEFT_OUT, Path, quote, write

Settings = TypeVar("Settings", bound=BaseModel)
UNUSED = ("partner", "render_mode")  # keys of env that a league has no use for
BOUNDS = ("ge", "gt", "le", "lt")
SHOWN = ("confidence", "responses", "evaluate")  # keys of league that say what is shown of it
Roster = Annotated[tuple[MemberConfig, ...], Field(strict=False, description="a list of occupants, or a roster's name")]


class Config(Section):
    """All settings of a league. Nobody practices against whom ``gate`` alone lists; ``heldout`` is met at the end."""

    env: EnvConfig = Field(default_factory=EnvConfig)
    league: LeagueConfig = Field(default_factory=LeagueConfig)
    members: tuple[MemberConfig, ...] = Field(
        strict=False, description=f"a list of occupants, at least one, or {ZOO} for the roster train"
    )
    gate: Roster = ()
    heldout: Roster = ()
    training: Hyperparameters = Field(default_factory=Hyperparameters)  # of every learner that does not say otherwise
    learners: tuple[LearnerConfig, ...] = Field(
        default=(), strict=False, description="a list of learners, each with a name"
    )
    stages: tuple[StageConfig, ...] = Field(default=(), strict=False, description="a list of stages, each with a name")
    backend: BackendConfig = Field(default_factory=BackendConfig)
    logging: LoggingConfig = Field(default_factory=LoggingConfig)

    @model_validator(mode="before")
    @classmethod
    def _written_out(cls, settings: Any) -> Any:
        if not isinstance(settings, Mapping):
            return settings
        training, learners = settings.get("training"), settings.get("learners")
        written = {**settings, **written_out(settings)}
        if isinstance(training, Mapping) and isinstance(learners, list | tuple):
            written["learners"] = [{**training, **own} if isinstance(own, Mapping) else own for own in learners]
        return written

    @model_validator(mode="after")
    def _parts_that_fit(self) -> Config:
        """Names that are unique and stages that can be played. Raises with every mistake."""
        lists = {key: getattr(self, key) for key in (*LISTS, "learners")}
        mistakes = [*repeated(lists), *met_too_early(lists), *self._misfits()]
        if mistakes:
            raise ValidationError.from_exception_data(
                "league", [{"type": wrong(text), "loc": path, "input": None} for path, text in mistakes]
            )
        return self

    def _misfits(self) -> Iterator[tuple[Path, str]]:
        """Path and text of whatever keeps the league or a stage from being played."""
        if not self.members:
            yield ("members",), f"must be {Config.model_fields['members'].description}; got []"
        if self.env.secret_claims:
            yield ("env", "secret_claims"), UNBOUND
        on_device = any(learner.plays_on_device for learner in self.learners)
        if self.env.message_length and on_device:
            yield ("env", "message_length"), "on a device no text passes: leave it out, or say rollouts: host"
        learners, known = [learner.name for learner in self.learners], {member.name for member in self.members}
        mains = [learner.name for learner in self.learners if learner.role == "main"]
        for place, learner in enumerate(self.learners):
            if learner.exploits is not None and learner.role != "main_exploiter":
                yield ("learners", place, "exploits"), "only a main_exploiter is for one main: leave it out"
            elif learner.exploits is not None and learner.exploits not in mains:
                yield (
                    ("learners", place, "exploits"),
                    f"no main is called {quote(learner.exploits)}; there are {', '.join(mains) or 'none'}",
                )
        for place, stage in enumerate(self.stages):
            here, until = ("stages", place), stage.until
            try:
                stage.env.over(self.env)
            except PydanticCustomError as error:
                yield here, error.message()
            for name in stage.learners:
                if name not in learners:
                    yield here, f"no learner is called {name}; there are {', '.join(learners)}"
            if until is not None and (not learners or (until.member or learners[0]) not in learners):
                yield here, f"until is about a learner, {until.member} is none"
            if until is not None and until.against not in {"all", *known, *learners}:
                yield here, f"until.against is all or a member's name; got {quote(until.against)}"
            endless = stage.rounds is None and until is None and stage.ends_when is None
            if endless and place + 1 < len(self.stages):
                yield here, "it never ends; give it rounds, until, or both"

    @property
    def curriculum(self) -> tuple[StageConfig, ...]:
        """The stages; without any, one that changes nothing."""
        return self.stages or (StageConfig(name="league"),)

    @property
    def layout(self) -> EnvConfig:
        """An environment whose observations hold those of every stage: what the learners' features are laid out for."""
        every = [self.env, *(stage.env.over(self.env) for stage in self.stages)]
        wide = {
            "max_turns": max(env.max_turns for env in every),
            "max_count": max(env.max_count for env in every),
            "reveal_partner_utilities": any(env.reveal_partner_utilities for env in every),
        }
        return self.env.model_copy(update=wide)

    @property
    def hinted(self) -> bool:
        return any(stage.hinted for stage in self.curriculum)

    @property
    def schedule(self) -> Schedule:
        """The rounds of the league; a closing measurement follows them if there are learners."""
        return Schedule(self.league.rounds, bool(self.learners))

    def portable(self) -> Config:
        """The settings without what changes nothing in a ledger: where things lie, who plays, how figures are shown."""
        unused = {key: EnvConfig.model_fields[key].default for key in ("data_dir", *UNUSED)}
        shown = {key: LeagueConfig.model_fields[key].default for key in SHOWN}
        sections = {"env": self.env.model_copy(update=unused), "league": self.league.model_copy(update=shown)}
        return self.model_copy(update={**sections, "logging": LoggingConfig(), "backend": BackendConfig()})


class ConfigError(InputError):
    """Settings that cannot be used; ``complaints`` holds every mistake, in the order of reading."""

    def __init__(self, complaints: Iterable[Complaint]) -> None:
        self.complaints = tuple(sorted(complaints))
        super().__init__("\n".join(f"{place.label}: {text}" for place, text in self.complaints))


def load_config(
    path: str | os.PathLike[str],
    overrides: Sequence[str] = (),
    model: type[Settings] = Config,  # type: ignore[assignment]  # a TypeVar has no default in Python 3.11
) -> Settings:
    """The settings, a ``model``, in a file under ``--set a.b=c`` options. Raises :class:`ConfigError`.

    Paths inside are relative to the current directory. ``use_dataset``, ``dataset`` or ``scenarios`` of an option
    replaces the file's source and its split.
    """
    return _built([file_layer(os.fspath(path)), command_line_layer(overrides)], model)


def parse(
    text: str,
    label: str = "settings",
    model: type[Settings] = Config,  # type: ignore[assignment]  # as above
) -> Settings:
    """The settings, a ``model``, in a YAML text; ``label`` names it in a message. Raises :class:`ConfigError`."""
    return _built([text_layer(text, label)], model)


def dump(config: BaseModel) -> str:
    """Every setting as YAML, the same text for the same settings; :func:`parse` reads it back."""
    values = config.model_dump(mode="json", exclude=set(LISTS))
    if isinstance(config, Config):
        for key in LISTS:
            values[key] = [member.written() for member in getattr(config, key)]
    return write(values)


def differences(old: BaseModel, new: BaseModel) -> list[str]:
    """What changed, a line per key or member: ``env.max_turns: 10 -> 6``."""
    before, after = dict(_flat(old)), dict(_flat(new))
    lines = []
    for key in dict.fromkeys((*before, *after)):
        was, now = before.get(key, "absent"), after.get(key, "absent")
        if was != now:
            lines.append(f"{key}: {was} -> {now}")
    for key in LISTS:
        names = [[member.name for member in getattr(config, key, ())] for config in (old, new)]
        if not lines and names[0] != names[1]:
            lines.append(f"{key}: another order, {', '.join(names[0])} -> {', '.join(names[1])}")
    return lines


def other_settings(run: os.PathLike[str], started: BaseModel, now: BaseModel) -> str | None:
    """Why a run that was ``started`` with other settings cannot be resumed with those of ``now``; ``None``: it can."""
    changed = "\n  ".join(differences(started, now))
    if not changed:
        return None
    return (
        f"{run} was started with other settings:\n  {changed}\nresume it with its own (--resume {run} without "
        f"--config), or start a new run without --resume"
    )


def _flat(config: BaseModel) -> Iterator[tuple[str, str]]:
    for section, values in config.model_dump(mode="json", exclude=set(LISTS)).items():
        listed = isinstance(values, list)
        for name, item in [(f"{section}.{i['name']}", i) for i in values] if listed else [(section, values)]:
            for key, value in item.items():
                yield f"{name}.{key}", "none" if value is None else str(value)
    for key in LISTS:
        for member in getattr(config, key, ()):
            yield f"{key}, {member.name}", member.spec


def _built(layers: list[Layer], model: type[Settings]) -> Settings:
    """The settings of all layers together. Raises :class:`ConfigError` with every mistake in them."""
    sections = [key for key, field in model.model_fields.items() if isinstance(field.annotation, type(BaseModel))]
    merged = merge(layers, sections)
    if (other := another_command(layers[0], model)) is not None:
        raise ConfigError([Complaint(layers[0].start, other)])
    config = None
    try:
        config = model.model_validate(merged.data)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            if not _left_out(details["input"]):
                merged.complain(*_complaint(details, model))
    if config is None or merged.complaints:
        raise ConfigError(merged.complaints)
    return config


def _left_out(item: object) -> bool:
    """Whether something in ``item`` could not be read, about which there is a complaint already."""
    if isinstance(item, Mapping):
        return any(map(_left_out, item.values()))
    return any(map(_left_out, item)) if isinstance(item, list) else item is LEFT_OUT


def _complaint(details: ErrorDetails, model: type[BaseModel]) -> tuple[Path, str]:
    """Path and text of a complaint, from pydantic's error about a ``model``."""
    path: Path = tuple(details["loc"])
    if details["type"] == "wrong":
        context = details["ctx"]
        return (*path, context["key"]) if context["key"] is not None else path, str(context["text"])
    fields = fields_at(path[:-1], model)
    key, value = str(path[-1]) if path else "", details["input"]
    if details["type"] == "extra_forbidden":
        return path, f"unknown key{meant(path, model)}; known: {', '.join(fields)}"
    field = fields.get(key)
    choices = _choices(field) if field else []
    return path, f"must be {allowed(field) if field else 'left out'}; got {quote(value)}{near(value, choices)}"


def _kinds(field: FieldInfo) -> tuple[Any, ...]:
    union = get_origin(field.annotation) in (Union, UnionType)
    return get_args(field.annotation) if union else (field.annotation,)


def _choices(field: FieldInfo) -> list[str]:
    return [str(name) for kind in _kinds(field) if get_origin(kind) is Literal for name in get_args(kind)]


def allowed(field: FieldInfo) -> str:
    """What a field takes, in words: from its type and its bounds, then its description, such as a unit."""
    kinds, choices, text = _kinds(field), _choices(field), field.description or ""
    if choices:
        text = f"one of {', '.join(choices)}"
    elif bool in kinds:
        text = f"true or false{text and f': {text}'}"
    elif int in kinds or float in kinds:
        separator = "; " if text.startswith("left out") else " " if text.startswith(("or ", "which ")) else ", "
        text = f"{_range(field, int in kinds)}{text and separator + text}"
    text = text or "a section of keys and values"
    return f"{text}, or left out" if type(None) in kinds and "left out" not in text and "null" not in text else text


def _range(field: FieldInfo, whole: bool) -> str:
    bound = {name: getattr(part, name) for part in field.metadata for name in BOUNDS if hasattr(part, name)}
    noun, low, high = "an integer" if whole else "a number", bound.get("ge"), bound.get("le")
    if whole and "lt" in bound:
        high = bound["lt"] - 1
    if low is not None and high is not None:
        return f"{noun} in {low}..{'2**63 - 1' if high == 2**63 - 1 else high}"
    if "gt" in bound and "lt" in bound:
        return f"{noun} between {bound['gt']} and {bound['lt']}"
    start = f"above {bound['gt']}" if "gt" in bound else "above 0" if low == 1 else f"of at least {low}"
    end = f", up to {high}" if high is not None else f", below {bound['lt']}" if "lt" in bound else ""
    return f"{noun} {start}{end}"


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
