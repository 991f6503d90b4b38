"""Reading settings: a YAML file of differences from the defaults, with ``--set a.b=c`` options over it.

All mistakes are reported at once (:class:`ConfigError`), each with file, line, key, the value and the allowed values.

The member lists are ``members`` to play, ``gate`` to judge by, and ``heldout`` for the end. A list may name a roster
(:data:`partners.rosters.LISTS`) instead of occupants, or among them. A roster stands for those of its members that no
list names; in ``gate``, which may repeat occupants of ``members``, also for those that ``members`` names. Members of
the rosters dev2 and people_dev are played at the end only: ``members`` and ``gate`` refuse them. All three refuse those
of test2 and test3, whose evaluations are logged: ``dond bench`` plays them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path as FilePath
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from dond_marl.errors import InputError, quote, suggest
from dond_marl.files import read_text
from dond_marl.occupants import ANYTHING, NOTHING, OccupantNameError, Permission, Spec, check_needs, read_spec
from league.settings.layers import (
    Complaint,
    Layer,
    Path,
    command_line_layer,
    file_layer,
    format_path,
    merge,
    text_layer,
    write_yaml,
)
from league.settings.learners import LearnerConfig, OracleConfig, StageConfig, branches_of
from league.settings.sections import (
    SHAPING,
    BackendConfig,
    EnvConfig,
    LeagueConfig,
    LoggingConfig,
    MemberConfig,
    Section,
    names_in,
    optional,
    refuse_mistakes,
    wrong,
)
from league.settings.training import Hyperparameters
from partners.rosters import HELD_OUT, LISTS, LOGGED, occupants_named, plain_name, roster

MEMBER_LISTS = ("members", "gate", "heldout")  # as the splits train, gate and heldout
OF_BENCH = "the evaluations on the roster {0} are logged: run `dond bench` with --against {0} and --reason"
Settings = TypeVar("Settings", bound=BaseModel)
Mistakes = Iterator[tuple[Path, str]]
WITHOUT_CODE = ANYTHING._replace(needs=ANYTHING.needs - {"code"})
HOW_TO_PLAN = "a dry run runs no code: read it first, then add --trust, or start the run"
BOUNDS = ("ge", "gt", "le", "lt")
DISPLAY = ("confidence", "evaluate")  # keys of league that change only what is shown
Roster = Annotated[tuple[MemberConfig, ...], Field(strict=False, description="a list of occupants, or a roster's name")]
LEAGUE_KEYS = ("league", "members", "learners", "oracles", "stages", "gate", "heldout")
TRAINING_KEYS = ("algo", "num_train_steps")


class Config(Section):
    """All settings of a league. Members that only ``gate`` lists judge and are no practice partners."""

    env: EnvConfig = Field(default_factory=EnvConfig)
    league: LeagueConfig = Field(default_factory=LeagueConfig)
    members: tuple[MemberConfig, ...] = Field(
        strict=False, description="a list of occupants, at least one, or zoo for the roster train"
    )
    gate: Roster = ()
    heldout: Roster = ()
    training: Hyperparameters = Field(default_factory=Hyperparameters)  # defaults of all learners
    learners: tuple[LearnerConfig, ...] = Field(
        default=(), strict=False, description="a list of learners, each with a name"
    )
    oracles: tuple[OracleConfig, ...] = optional(
        (), strict=False, description="a list of best responses to learners, each with the learner's name in of"
    )
    stages: tuple[StageConfig, ...] = Field(default=(), strict=False, description="a list of stages, each with a name")
    backend: BackendConfig = Field(default_factory=BackendConfig)
    logging: LoggingConfig = Field(default_factory=LoggingConfig)

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, settings: Any) -> Any:
        """Expand rosters, and lay each learner over ``training``."""
        if not isinstance(settings, Mapping):
            return settings
        training, learners = settings.get("training"), settings.get("learners")
        expanded = {**settings, **expand_rosters(settings)}
        if isinstance(training, Mapping) and isinstance(learners, list | tuple):
            expanded["learners"] = [
                {**training, **learner} if isinstance(learner, Mapping) and not learner.get("train") else learner
                for learner in learners
            ]
        return expanded

    @model_validator(mode="after")
    def _check_sections_together(self) -> Config:
        """Check names and references across sections. Raises with every mistake."""
        lists = {key: getattr(self, key) for key in (*MEMBER_LISTS, "learners", "oracles")}
        learners, stages = self._learner_mistakes(), self._stage_mistakes()
        refuse_mistakes("league", chain(find_duplicates(lists), refused_by_roster(lists), learners, stages))
        return self

    def _learner_mistakes(self) -> Mistakes:
        if not self.members:
            yield ("members",), f"must be {Config.model_fields['members'].description}; got []"
        mains = [learner.name for learner in self.learners if learner.role == "main"]
        learners, targets = {learner.name: learner for learner in self.learners}, {oracle.of for oracle in self.oracles}
        for i, learner in enumerate(self.learners):
            if learner.exploits is not None and learner.role != "main_exploiter":
                yield ("learners", i, "exploits"), "is for a main_exploiter: leave it out"
            elif learner.exploits not in (None, *mains):
                text = f"no main is called {quote(learner.exploits)}; there are {', '.join(mains) or 'none'}"
                yield ("learners", i, "exploits"), text
            stages = [stage.env.apply_to(self.env) for stage in self.stages] if learner.train else []
            if any(getattr(env, key) != getattr(self.env, key) for env in stages for key in SHAPING):
                yield ("learners", i, "train"), f"has the same spaces in all stages: leave {', '.join(SHAPING)} alone"
            rules = {branch.rule for version in self.versions(learner) for branch in branches_of(version.matchmaking)}
            if "oracles" in rules and learner.name not in targets:
                advice = f"add oracles: [{{of: {learner.name}}}], or leave the rule out"
                yield ("learners", i, "matchmaking"), f"no oracle is a best response to {learner.name}; {advice}"
        for i, oracle in enumerate(self.oracles):
            if (target := learners.get(oracle.of)) is None:
                text = f"no learner is called {quote(oracle.of)}; there are {', '.join(learners) or 'none'}"
                yield ("oracles", i, "of"), text
            elif target.history != "none" or target.reservoir or target.train:
                key = "train" if target.train else "history" if target.history != "none" else "reservoir"
                text = f"the best response to a learner with {key} is not exact; name another, or leave {key} out"
                yield ("oracles", i, "of"), text
        yield from self._env_mistakes(("env",), self.env)

    def _env_mistakes(self, path: Path, env: EnvConfig) -> Mistakes:
        """Mistakes of an environment, at ``path``, in which oracles solve games."""
        if self.oracles and env.scenarios == "uniform":
            yield (*path, "scenarios"), "best responses (oracles) need lewis, self_play or dialogues; got uniform"
        if self.oracles and env.reveal_partner_utilities:
            yield (*path, "reveal_partner_utilities"), "is false in a league with oracles; got true"
        if env.disagree != "ends" and any(oracle.play == "sampled" for oracle in self.oracles):
            yield (*path, "disagree"), f"is ends where an oracle has play: sampled; got {env.disagree}"

    def _stage_mistakes(self) -> Mistakes:
        names = [learner.name for learner in self.learners]
        for i, stage in enumerate(self.stages):
            path = ("stages", i)
            try:
                yield from self._env_mistakes((*path, "env"), stage.env.apply_to(self.env))
            except PydanticCustomError as error:
                yield path, error.message()
            for name in [name for name in stage.learners if name not in names]:
                yield path, f"no learner is called {name}; there are {', '.join(names)}"
            if stage.until is not None and not names:
                yield path, "until is about a learner, and there is none: leave it out"
            if not (stage.rounds or stage.until) and i + 1 < len(self.stages):
                yield path, "it never ends; give it rounds, until, or both"

    @property
    def curriculum(self) -> tuple[StageConfig, ...]:
        """The stages; without any, one that changes nothing."""
        return self.stages or (StageConfig(name="league"),)

    def versions(self, learner: LearnerConfig) -> list[LearnerConfig]:
        """A learner with its own settings, and with those of each stage in which it learns."""
        return [learner, *filter(None, (stage.learner(learner) for stage in self.curriculum))]

    @property
    def layout(self) -> EnvConfig:
        """The widest environment of all stages: the one that the learners' features are laid out for."""
        every = [self.env, *(stage.env.apply_to(self.env) for stage in self.stages)]
        wide = {
            "max_turns": max(env.max_turns for env in every),
            "max_count": max(env.max_count for env in every),
            "reveal_partner_utilities": any(env.reveal_partner_utilities for env in every),
        }
        return self.env.model_copy(update=wide)

    @property
    def gives_hints(self) -> bool:
        """Whether any stage gives hints."""
        hints = ([stage.hints, *(learner.hints for learner in stage.learners.values())] for stage in self.stages)
        return any(given is not None and given.mode != "none" for given in chain(*hints))

    @property
    def total_rounds(self) -> int:
        """All rounds: those of practice and, if there are learners, a closing measurement.

        Number ``league.rounds``, counted from 0, has no practice, and payoffs of learners from earlier rounds do not
        count in its ratings. In the round before it no member joins and no stage ends.
        """
        return self.league.rounds + bool(self.learners)

    @property
    def length(self) -> str:
        """The number of rounds in words: ``10 rounds, then a closing measurement``."""
        rounds = self.league.rounds
        return f"{rounds} round{'s' * (rounds != 1)}{', then a closing measurement' * bool(self.learners)}"

    def portable(self) -> Config:
        """The settings without those that change nothing in a ledger: paths, backend, and display of figures."""
        unused = {key: EnvConfig.model_fields[key].default for key in ("data_dir", "partner")}
        display = {key: LeagueConfig.model_fields[key].default for key in DISPLAY}
        unused["scenarios"] = self.env.portable_scenarios()
        sections = {"env": self.env.model_copy(update=unused), "league": self.league.model_copy(update=display)}
        return self.model_copy(update={**sections, "logging": LoggingConfig(), "backend": BackendConfig()})

    @property
    def digest(self) -> str:
        """A hash of the settings that a ledger depends on, 16 hexadecimal digits."""
        return hashlib.sha256(dump(self.portable()).encode()).hexdigest()[:16]


class ConfigError(InputError):
    """Settings that cannot be used; ``complaints`` holds every mistake, in the order of reading."""

    def __init__(self, complaints: Iterable[Complaint]) -> None:
        self.complaints = tuple(sorted(complaints))
        super().__init__("\n".join(f"{origin.label}: {text}" for origin, text in self.complaints))


def load_config(
    path: str | os.PathLike[str],
    overrides: Sequence[str] = (),
    model: type[Settings] = Config,  # type: ignore[assignment]  # a TypeVar has no default in Python 3.11
    *,
    dry_run: bool = False,
    expand: Callable[[Any], Any] = lambda data: data,
) -> Settings:
    """The settings, a ``model``, in a file under ``--set a.b=c`` options. Raises :class:`ConfigError`.

    ``dry_run``: nothing that they name runs; raises :class:`~dond_marl.errors.UntrustedError` where they name code or a
    program. ``expand``: replaces names that only a user's own settings may have.

    Paths inside are relative to the current directory. ``use_dataset``, ``dataset`` or ``scenarios`` of an option
    replaces the file's source and its split.
    """
    layers = [file_layer(os.fspath(path)), command_line_layer(overrides)]
    for layer in layers:
        layer.data = expand(layer.data)
    if not dry_run:
        return _build(layers, model)
    config = _build(layers, model, WITHOUT_CODE)
    check_needs(dict.fromkeys(names_in(config)), WITHOUT_CODE, os.fspath(path), HOW_TO_PLAN)
    return config


def parse(
    text: str,
    label: str = "settings",
    model: type[Settings] = Config,  # type: ignore[assignment]  # as above
    allow: Permission = ANYTHING,
) -> Settings:
    """The settings, a ``model``, in a YAML text; ``label`` names it in a message. Raises :class:`ConfigError`.

    ``allow``: what names may need to be looked up, :data:`~dond_marl.occupants.NOTHING` for a text of another origin.
    """
    return _build([text_layer(text, label)], model, allow)


def parse_stored(path: os.PathLike[str], model: type[Settings]) -> Settings:
    """The settings, a ``model``, in a file of a run folder, where no name is looked up that needs anything.

    Raises ``OSError`` and :class:`ConfigError`.
    """
    return parse(read_text(FilePath(path)), os.fspath(path), model, NOTHING)


def dump(config: BaseModel) -> str:
    """Every setting as YAML, the same text for the same settings; :func:`parse` reads it back."""
    values = config.model_dump(mode="json", exclude=set(MEMBER_LISTS))
    if isinstance(config, Config):
        for key in MEMBER_LISTS:
            values[key] = [m.name if m.name == m.spec else m.model_dump(mode="json") for m in getattr(config, key)]
    return write_yaml(values)


def _build(layers: list[Layer], model: type[Settings], allow: Permission = ANYTHING) -> Settings:
    """The settings of all layers together. Raises :class:`ConfigError` with every mistake in them."""
    sections = [key for key, field in model.model_fields.items() if isinstance(field.annotation, type(BaseModel))]
    merged = merge(layers, sections)
    if (other := another_command(layers[0], model)) is not None:
        raise ConfigError([Complaint(layers[0].start, other)])
    if layers[0].complaints and not layers[0].data:  # nothing was read: what would be missing from it is no mistake
        raise ConfigError(layers[0].complaints)
    config = None
    try:
        config = model.model_validate(merged.data, context={"allow": allow})
    except ValidationError as error:
        errors = error.errors(include_url=False)
        lists = {details["loc"][:-1] for details in errors}
        for details in errors:
            if details["type"] != "too_short" or details["loc"] not in lists:  # its wrong items do not count
                merged.complain(*_complaint(details, model))
    if config is None or merged.complaints:
        raise ConfigError(merged.complaints)
    return config


def _complaint(details: ErrorDetails, model: type[BaseModel]) -> tuple[Path, str]:
    """Path and text of a complaint, from pydantic's error about a ``model``."""
    path: Path = tuple(details["loc"])
    if details["type"] == "wrong":
        context = details["ctx"]
        return (*path, context["key"]) if context["key"] is not None else path, str(context["text"])
    if path and isinstance(path[-1], int):  # an item of a list: the list's own description says what it may be
        path = path[:-1]
    fields = fields_at(path[:-1], model)
    key, value = str(path[-1]) if path else "", details["input"]
    if details["type"] == "extra_forbidden":
        return path, f"unknown key{suggest_key(path, model)}; known: {', '.join(fields)}"
    field = fields.get(key)
    choices = list(LISTS) if len(path) == 1 and key in MEMBER_LISTS else _choices(field) if field else []
    return (
        path,
        f"must be {describe_allowed(field) if field else 'left out'}; got {quote(value)}{suggest(value, choices)}",
    )


def another_command(layer: Layer, model: type[BaseModel]) -> str | None:
    """Advice if the file is meant for another command than the one that reads ``model``; otherwise ``None``."""
    file = layer.start.label.rpartition(":")[0]
    fields, held = model.model_fields, [key for key in LEAGUE_KEYS if key in layer.data]
    if "league" not in fields and len(held) > 1:
        return f"this is a league's config, it has {', '.join(held)}: use dond league --config {file}"
    training = layer.data.get("training")
    held = [key for key in TRAINING_KEYS if isinstance(training, dict) and key in training]
    if "league" in fields and "members" not in layer.data and held:
        return f"this is a training's config, it has training.{held[0]}: use dond train --config {file}"
    return None


def suggest_key(path: Path, model: type[BaseModel]) -> str:
    """A suggestion for the unknown key at ``path``: a similar key of its section, or one of that name elsewhere."""
    key = str(path[-1])
    if text := suggest(key, fields_at(path[:-1], model)):
        return text
    for section in model.model_fields:
        if key in fields_at((section,), model):
            return f" (did you mean '{section}.{key}'?)"
    return f" (did you mean {key!r}, a key of the top level?)" if key in model.model_fields else ""


def fields_at(path: Path, model: Any) -> dict[str, FieldInfo]:
    """The fields of the section at ``path`` of a ``model``; none if that is no section."""
    for step in path:
        if isinstance(step, int):  # an item of a list
            model = get_args(model)[0]
        elif isinstance(model, type(BaseModel)) and step in model.model_fields:
            model = model.model_fields[str(step)].annotation
    return dict(model.model_fields) if isinstance(model, type(BaseModel)) else {}


def _kinds(field: FieldInfo) -> tuple[Any, ...]:
    union = get_origin(field.annotation) in (Union, UnionType)
    return get_args(field.annotation) if union else (field.annotation,)


def _choices(field: FieldInfo) -> list[str]:
    return [str(name) for kind in _kinds(field) if get_origin(kind) is Literal for name in get_args(kind)]


def describe_allowed(field: FieldInfo) -> str:
    """The allowed values of a field in words: from its type and its bounds, then its description, such as a unit."""
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


def _range(field: FieldInfo, integer: bool) -> str:
    bound = {name: getattr(part, name) for part in field.metadata for name in BOUNDS if hasattr(part, name)}
    noun, low, high = "an integer" if integer else "a number", bound.get("ge"), bound.get("le")
    if integer and "lt" in bound:
        high = bound["lt"] - 1
    if low is not None and high is not None:
        return f"{noun} in {low}..{'2**63 - 1' if high == 2**63 - 1 else high}"
    if "gt" in bound and "lt" in bound:
        return f"{noun} between {bound['gt']} and {bound['lt']}"
    start = f"above {bound['gt']}" if "gt" in bound else "above 0" if low == 1 else f"of at least {low}"
    end = f", up to {high}" if high is not None else f", below {bound['lt']}" if "lt" in bound else ""
    return f"{noun} {start}{end}"


def expand_rosters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The three lists with their rosters expanded; a value that is no list stays, and is refused later.

    Raises a complaint about rosters that no list may name.
    """
    defaults = {"members": "zoo", "gate": (), "heldout": ()}
    lists = {key: settings.get(key, default) for key, default in defaults.items()}
    lists = {key: [items] if _is_roster(items) else items for key, items in lists.items()}
    written = {key: items for key, items in lists.items() if isinstance(items, list | tuple)}
    for key, items in written.items():
        for name in (name for name in LOGGED if name in items):
            raise wrong(OF_BENCH.format(name), key)
    named = {key: {_spec(item) for item in items if not _is_roster(item)} for key, items in written.items()}
    for key, items in written.items():
        listed = set().union(*(named[other] for other in named if (key, other) != ("gate", "members")))
        lists[key] = list(_expanded(items, listed))
    return lists


def find_duplicates(lists: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Path, str]]:
    """Path and text of a complaint about each duplicate name, and each duplicate spec without a name."""
    names: dict[str, Path] = {}
    specs: dict[str | None, Path] = {}
    playing = {(item.name, item.spec) for item in lists["members"]}
    for path, item in [((key, i), item) for key, items in lists.items() for i, item in enumerate(items)]:
        spec = getattr(item, "spec", None)  # a learner has none
        if path[0] == "gate" and (item.name, spec) in playing:
            playing.remove((item.name, spec))
            continue  # practiced against, and judged by
        if item.name in names:
            yield path, f"the name {quote(item.name)} is taken by {format_path(names[item.name])}; give it another"
        elif item.name == spec and spec in specs:
            yield path, f"{spec} plays already as {format_path(specs[spec])}; give it a name to play twice"
        names.setdefault(item.name, path)
        specs.setdefault(spec, path)


def refused_by_roster(lists: Mapping[str, Sequence[MemberConfig]]) -> Iterator[tuple[Path, str]]:
    """Path and text of a complaint about each member of dev2 outside of ``heldout``, and of test2 anywhere.

    People_dev is as dev2, and test3 as test2.
    """
    held_out = {plain: name for name in HELD_OUT for plain in _plain(roster(name))}
    for key in MEMBER_LISTS:
        for i, member in enumerate(lists[key]):
            name = held_out.get(plain_name(member.spec))
            if name in LOGGED:
                yield (key, i), f"{member.spec} is in {name}: leave it out. {OF_BENCH.format(name)}"
            elif name is not None and key != "heldout":
                yield (
                    (key, i),
                    f"{member.spec} is in the roster {name}, which is played at the end only: leave it out, or list it "
                    f"in heldout; partners to learn from are in the roster train, others for tuning in dev",
                )


def _is_roster(item: Any) -> bool:
    return isinstance(item, str) and item in LISTS


def _expanded(items: Sequence[Any], named: set[Spec | None]) -> Iterator[Any]:
    """The items of a list, with the members of each roster that are neither ``named`` nor in a roster before it."""
    for item in items:
        if not _is_roster(item):
            yield item
            continue
        members = occupants_named(item)
        plain = _plain(members)
        yield from (member for member, name in zip(members, plain, strict=True) if name not in named)
        named = named | set(plain)


@lru_cache(maxsize=4)
def _plain(members: tuple[Spec, ...]) -> tuple[Spec, ...]:
    return tuple(map(plain_name, members))


def _spec(item: Any) -> Spec | None:
    """The plain name of an item's occupant; ``None`` for an item that is refused when it is validated."""
    if isinstance(item, Mapping):
        item = item["spec"] if item.keys() == {"name", "spec"} else {k: v for k, v in item.items() if k != "name"}
    spec = item.spec if isinstance(item, MemberConfig) else read_spec(item) if isinstance(item, str | Mapping) else None
    try:
        return None if spec is None else plain_name(spec)
    except OccupantNameError:
        return None
