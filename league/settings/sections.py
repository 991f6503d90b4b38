"""Settings of the game, the league, its members, hints, backend and logs: frozen models, each a section of a YAML file.

Occupants are made once while the models are built: an unknown name or parameter is found before a game is played.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from dond_marl.errors import Notice, quote, suggest
from dond_marl.game import MAX_COUNT, MAX_MESSAGE_LENGTH, MAX_VALUE, Disagree, Rules
from dond_marl.occupants import (
    ANYTHING,
    OccupantNameError,
    Permission,
    Spec,
    find_factory,
    missing_needs,
    parse_spec,
    pin_spec,
    seat_occupant,
    short_names,
    unpin_spec,
)
from dond_marl.scenarios.own_files import is_file_name
from dond_marl.scenarios.sources import (
    DATASETS,
    LEWIS_MAX_COUNT,
    LEWIS_POOL_VALUE,
    SOURCE_NAMES,
    SOURCES,
    ScenarioError,
    ScenarioSource,
    check_split,
    is_source_name,
    open_source,
)
from dond_marl.seats import UNREACHED_BOUND
from league.settings.layers import Path
from partners.catalogue import UNSCRIPTED
from partners.llm.service import GROQ_MODEL, Provider
from partners.network.occupants import resolve_fallback

BackendName = Literal["local", "process", "ray"]
MetaSolver = Literal["max_gini", "max_gini_ce", "max_welfare", "nash_bargaining", "replicator", "uniform"]
MAX_TEXT = 1_000  # characters of one occupant or path
MAX_NAME = 80  # characters of a member's name


def wrong(text: str, key: str | int | None = None) -> PydanticCustomError:
    """A validation error with this text; ``key``: the key or item below the validated value that it concerns."""
    return PydanticCustomError("wrong", "{text}", {"text": text, "key": key})


def permission(info: ValidationInfo) -> Permission:
    """Permission for the names in the settings to be looked up; the user's own may need anything."""
    allow: Permission = (info.context or {}).get("allow", ANYTHING)
    return allow


def _occupant(value: object, info: ValidationInfo) -> Spec:
    """The spec of an occupant. Raises if the occupant cannot be made; one that is not allowed is not made."""
    if not isinstance(value, str | Mapping) or len(str(value)) > MAX_TEXT:
        raise wrong(f"an occupant is a name, name(parameter=value, ...) or a mapping with 'kind'; got {quote(value)}")
    try:
        spec = parse_spec(value)
        if missing_needs(spec, permission(info)):
            return spec
        spec = pin_spec(spec)
        if spec.kind in UNSCRIPTED:
            find_factory(spec)  # made when the league begins: reading settings reads no weights
        else:
            seat_occupant(spec)
    except OccupantNameError as error:
        cut = isinstance(value, str) and value.count("(") != value.count(")")
        raise wrong(f"{error}{' (in a list in [...] put quotes around it)' if cut else ''}") from None
    return spec


def _source(text: str) -> str:
    if not is_source_name(text):
        raise wrong(f"must be {SOURCE_NAMES}; got {quote(text)}{suggest(text, SOURCES)}")
    return text


AS_TEXT = PlainSerializer(str, return_type=str, when_used="json")
Occupant = Annotated[Spec, PlainValidator(_occupant), AS_TEXT]
PathText = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
SourceName = Annotated[PathText, AfterValidator(_source)]
SHAPING = ("max_turns", "max_count", "reveal_partner_utilities")  # what the spaces of an environment depend on


def refuse_mistakes(title: str, mistakes: Iterable[tuple[Path, str]]) -> None:
    """Raise a validation error with every mistake, a path and a text; nothing without any."""
    details: list[InitErrorDetails] = [{"type": wrong(text), "loc": path, "input": None} for path, text in mistakes]
    if details:
        raise ValidationError.from_exception_data(title, details)


class Section(BaseModel):
    """A part of the settings: unknown keys are refused, values are not converted and do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    def implied_names(self) -> Iterator[Spec]:
        """The names that further keys of this section stand for, such as an address."""
        return iter(())


def names_in(settings: object) -> Iterator[Spec]:
    """All names in settings: of occupants and rewards, and those that other keys stand for."""
    if isinstance(settings, Spec):
        yield settings
    elif isinstance(settings, Section):
        yield from settings.implied_names()
        for key in type(settings).model_fields:
            yield from names_in(getattr(settings, key))
    elif isinstance(settings, Mapping):
        yield from names_in(list(settings.values()))
    elif isinstance(settings, list | tuple):
        for item in settings:
            yield from names_in(item)


def optional(default: Any, **options: Any) -> Any:
    """A field that is not written out while it has its default, as ``Field``.

    For keys of features that most runs do not use: the stored settings of those runs, and so the identity and the
    random streams of their learners, do not depend on which such features exist.
    """
    return Field(default=default, exclude_if=lambda value: value == default, **options)


class EnvConfig(Section):
    """The game; ``scenarios``, ``use_dataset``, ``dataset`` and ``split`` always agree.

    ``use_dataset: true`` is another way to write ``scenarios: <dataset>``, for the published files.
    """

    id: Literal["DealOrNoDialog-v0"] = "DealOrNoDialog-v0"
    partner: Occupant = Spec("heuristic")
    max_turns: int = Field(default=10, ge=1, le=100)
    disagree: Disagree = "ends"
    scenarios: SourceName = Field(default="uniform", description=SOURCE_NAMES)
    use_dataset: bool = False
    dataset: Literal["self_play", "dialogues"] = "self_play"
    split: str | None = Field(default=None, description="text")
    data_dir: PathText | None = Field(default=None, description="the path of a folder")
    normalize: bool = False
    points_budget: int = Field(default=10, ge=1, le=3 * MAX_COUNT * MAX_VALUE)
    max_count: int = Field(default=4, ge=1, le=MAX_COUNT)
    reveal_partner_utilities: bool = False
    message_length: int = optional(
        0, ge=0, le=MAX_MESSAGE_LENGTH, description="characters of the message with an act, 0: none"
    )

    @model_validator(mode="before")
    @classmethod
    def _name_source(cls, settings: Any) -> Any:
        """Fill in the keys that name the source: ``use_dataset: true`` means ``scenarios: <dataset>``."""
        if not isinstance(settings, Mapping):
            return settings
        env, use = dict(settings), settings.get("use_dataset")
        dataset = env.get("dataset") if env.get("dataset") in DATASETS else None
        if use is False and dataset:
            del env["dataset"]  # named, but not in use
        elif use is True or dataset:
            env.setdefault("scenarios", dataset or DATASETS[0])
        in_use = env.get("scenarios") in DATASETS
        return {"use_dataset": in_use, "dataset": env["scenarios"] if in_use else DATASETS[0], "split": None} | env

    @field_validator("use_dataset", "dataset", "split")
    @classmethod
    def _agree_with_source(cls, value: Any, info: ValidationInfo) -> Any:
        """Check a key against ``scenarios``; a split that is left out is the source's own default."""
        source = info.data.get("scenarios")
        if source is None:  # refused itself
            return value
        if info.field_name == "split":
            try:
                return check_split(source, value)
            except ScenarioError as error:
                raise wrong(str(error)) from None
        in_use = source in DATASETS
        if value != (in_use if info.field_name == "use_dataset" else source if in_use else DATASETS[0]):
            raise wrong(f"{str(value).lower()} contradicts scenarios: {source}; give one of the two")
        return value

    @model_validator(mode="after")
    def _check_scenarios(self) -> EnvConfig:
        """Check that the source holds scenarios."""
        if is_file_name(self.scenarios):  # opened when it is used
            return self
        if self.scenarios in DATASETS:  # so are these; what every published pool is like is known before
            if self.max_count < LEWIS_MAX_COUNT:
                raise wrong(f"{self.scenarios} holds pools with {LEWIS_MAX_COUNT} items of one type", "max_count")
            if self.normalize and self.points_budget != LEWIS_POOL_VALUE:
                raise wrong(f"every pool of {self.scenarios} is worth {LEWIS_POOL_VALUE} to each seat", "points_budget")
        else:
            try:
                self.open_source()
            except ScenarioError as error:
                raise wrong(str(error), "points_budget" if "points_budget" in str(error) else "max_count") from None
        return self

    def open_source(self) -> ScenarioSource:
        """The scenarios. Raises :class:`ScenarioError` or :class:`dond_marl.scenarios.data.DataError`."""
        return open_source(
            self.scenarios,
            split=self.split,
            data_dir=self.data_dir,
            normalize=self.normalize,
            points_budget=self.points_budget,
            max_count=self.max_count,
        )

    def portable_scenarios(self) -> str:
        """The source's name without a folder; that of a file with its digest."""
        if not is_file_name(self.scenarios):
            return self.scenarios
        return f"{FilePath(self.scenarios).name} {self.open_source().digest()}"

    def resolve_partner(self) -> EnvConfig:
        """These settings with the partner's ``fallback`` as the partner, if the partner's checkpoint is missing.

        A :class:`Notice` reports the replacement: training and evaluation are then against the fallback.
        """
        partner = resolve_fallback(self.partner)
        if partner == self.partner:
            return self
        warnings.warn(f"{self.partner}: no such checkpoint here, so {partner} is the partner", Notice, stacklevel=2)
        return self.model_copy(update={"partner": partner})

    def rules(self) -> Rules:
        return Rules(self.max_turns, self.disagree, self.message_length)


class LeagueConfig(Section):
    """The amount of play, and the confidence of the figures."""

    seed: int = Field(default=0, ge=0, lt=2**63)
    rounds: int = Field(default=10, ge=1, le=100_000)
    block_size: int = Field(default=512, ge=1, le=65_536, description="scenarios per match")
    confidence: float = Field(default=0.95, gt=0.5, lt=0.9999)
    decay: float = Field(default=0.5, ge=0, le=1, description="discount per round of a learner's older games")
    floor: float = Field(default=0.1, gt=0, le=1, description="share of practice spread evenly")
    opponents: int = Field(default=64, ge=1, le=10_000, description="matches of a learner a round")
    pairs: int = Field(default=64, ge=0, le=1_000_000, description="other matches a round")
    costly: int = Field(
        default=4, ge=0, le=10_000, description="matches a round with members that are expensive to query"
    )
    unreached: float = optional(
        UNREACHED_BOUND,
        ge=0,
        le=1,
        description="share of the games of a match or a practice update in which a member may be unreachable; they do "
        "not count, and with more of them the match or practice fails",
    )
    meta_solver: MetaSolver = "max_welfare"
    evaluate: bool = Field(default=True, description="the mains on held-out scenarios at the end")

    def occasions(self, every: int) -> int:
        """Number of rounds of practice, without the last, that are multiples of ``every``; 0 for ``every`` 0."""
        return (self.rounds - 1) // every if every else 0

    def round_name(self, number: int) -> str:
        """Round ``number`` (from 0) as shown: ``round 1``, ``the closing measurement`` after the last."""
        return f"round {number + 1}" if number < self.rounds else "the closing measurement"


class MemberConfig(Section):
    """A member that does not learn: a unique name, and the occupant's spec.

    The name is by default the spec itself, or the short name of a spec with a long path.
    """

    name: str
    spec: Occupant

    @model_validator(mode="before")
    @classmethod
    def _from_spec(cls, value: Any, info: ValidationInfo) -> Any:
        """``boulware(exponent=4)`` or ``{kind: boulware, exponent: 4, name: stubborn Bob}``."""
        if isinstance(value, Mapping):
            if value.keys() == {"name", "spec"}:
                return value
            spec = _occupant({key: value for key, value in value.items() if key != "name"}, info)
        else:
            spec = _occupant(value, info)
        usual = unpin_spec(spec).text
        if len(usual) > MAX_NAME:
            usual = short_names([usual]).get(usual, usual)
        name = value.get("name", usual) if isinstance(value, Mapping) else usual
        if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name.strip()) == len(name) <= MAX_NAME:
            advice = "" if name is not usual else "; give it one with {kind: ..., name: ...}"
            raise wrong(f"a member's name is 1..{MAX_NAME} printable characters; got {quote(name)}{advice}")
        return {"name": name, "spec": spec}


HintMode = Literal["none", "random", "expert", "llm"]
_TAKEN = {"kind", "provider", "model", "prompt_path", "max_requests"}


class HintModels(Section):
    """The model that each provider of hints queries."""

    groq: str = Field(default=GROQ_MODEL, min_length=1, max_length=200, description="the name of a model")
    openai: str | None = Field(default=None, min_length=1, max_length=200, description="the name of a model")
    hf: PathText | None = Field(default=None, description="a model's folder; left out: the small model of this package")


class HintsConfig(Section):
    """The hint provider of the learner, and the cadence of its hints.

    For mode ``llm``: ``provider``, ``models``, ``prompt_path``, ``max_requests`` (counted in each process, shared by
    all learners and rounds in it, as are the limits among the options), ``options`` (further parameters of the occupant
    ``llm``, such as base_url, cache and cache_mode) and ``privileged``, which shows the hinter the partner's values.
    ``dropout`` applies in training only. ``closing_scenarios``: number of held-out scenarios of the final score under
    hints of a language model, each in both seats, greedy and sampled; with other hints all scenarios are played.
    """

    mode: HintMode = "none"
    expert: Occupant = Field(default=Spec("expert"), description="the occupant that gives hints of mode expert")
    cadence_k: int = Field(default=1, ge=1, le=100, description="decisions from one hint to the next")
    dropout: float = Field(default=0.0, ge=0, le=1, description="share of hints withheld in training")
    provider: Provider = "auto"
    models: HintModels = Field(default_factory=HintModels)
    prompt_path: PathText | None = Field(default=None, description="a prompt file; left out: the shipped prompt")
    max_requests: int | None = Field(default=10_000, ge=1, description="or null for no limit")
    closing_scenarios: int = optional(
        20, ge=1, le=10_000, description="held-out scenarios of the final score under a model's hints"
    )
    options: dict[str, object] = Field(default_factory=dict, description="further parameters of the occupant llm")
    privileged: bool = False

    def implied_names(self) -> Iterator[Spec]:
        if self.mode == "llm":
            settings = {"provider": self.provider, "model": self.models.hf, "prompt_path": self.prompt_path}
            yield Spec("llm", {**{key: value for key, value in settings.items() if value is not None}, **self.options})

    @property
    def privileged_note(self) -> str:
        """A warning next to figures that use more than a seat may observe; otherwise empty."""
        return ", PRIVILEGED: the hinter sees the partner's values" if self.privileged else ""

    @model_validator(mode="after")
    def _check_provider(self) -> HintsConfig:
        if self.privileged and self.mode != "llm":
            raise wrong("is for hints of mode llm only: leave privileged out", "privileged")
        reserved = sorted(self.options.keys() & _TAKEN)
        if reserved:
            raise wrong(f"{', '.join(reserved)}: the hints have keys of their own for that, next to options", "options")
        try:
            find_factory({"kind": "llm", **self.options})
        except OccupantNameError as error:
            raise wrong(str(error), "options") from None
        url = "base_url" in self.options
        allowed = {"openai": url, "hf": not url, "auto": not url}.get(self.provider, True)
        if self.mode == "llm" and not allowed:
            raise wrong(
                "provider openai needs options: {base_url: ...}, groq may have one, and no other takes one", "provider"
            )
        return self


OtherTracker = Literal["wandb"]  # besides TensorBoard, see league.ledger.trackers


class LoggingConfig(Section):
    """The folder of the run, and its logs."""

    output_dir: PathText = Field(default="runs/league", description="the path of a folder")
    tensorboard: bool = Field(default=True, description="events for TensorBoard on learners")
    trackers: tuple[OtherTracker, ...] = optional(
        (), strict=False, description=f"a list of {', '.join(get_args(OtherTracker))}"
    )

    @property
    def all_trackers(self) -> tuple[str, ...]:
        """All trackers, including TensorBoard."""
        return (*(["tensorboard"] if self.tensorboard else []), *self.trackers)


class BackendConfig(Section):
    """Backend of the tasks, which changes no result."""

    kind: BackendName | None = Field(
        default=None,
        description="local, process or ray, or left out: process where workers are set, ray where its address is",
    )
    workers: int | None = Field(default=None, ge=1, le=4096, description="left out: one for every core")
    ray_address: PathText | None = Field(default=None, description="HOST:PORT or auto")

    def implied_names(self) -> Iterator[Spec]:
        if self.ray_address is not None:
            yield Spec("ray", {"address": self.ray_address})

    @model_validator(mode="after")
    def _consistent(self) -> BackendConfig:
        if self.effective_kind != "ray" and self.ray_address is not None:
            raise wrong(
                f"the backend {self.effective_kind} takes no address; choose ray, or leave it out", "ray_address"
            )
        if self.effective_kind == "local" and (self.workers or 1) > 1:
            raise wrong("the backend local plays in this process alone; choose process, or leave it out", "workers")
        return self

    @property
    def effective_kind(self) -> BackendName:
        """The kind of backend; if none is named, the one that the other keys imply."""
        if self.kind is not None:
            return self.kind
        if self.ray_address is not None:
            return "ray"
        return "local" if (self.workers or 1) == 1 else "process"
