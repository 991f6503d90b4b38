"""Provenance of occupants: all partners that a policy has trained against or was made from, directly or through them.

A policy learns its opponents, and through them the opponents that they learned from. Every checkpoint, league member
and imitating language model therefore notes its whole past. No member of the held-out rosters *dev2* and *test2*
(:mod:`partners.rosters`) may be in it, otherwise a score against them measures nothing.

Every occupant has one identity text. Networks are named by the SHA-256 of their weights, wherever the file lies. A
scripted partner has no past except that of occupants inside it, as in ``mixture(of=[...])``. The factory of a learned
occupant gives its past with :func:`declare_provenance`; without that, and for every factory of another package, the
past is unknown. This module loads no PyTorch.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from dond_marl.errors import InputError
from dond_marl.files import read_bytes, user_path
from dond_marl.game import MAX_COUNT
from dond_marl.occupants import Spec, SpecLike, catalogue, find_factory, read_spec, seat_occupant
from dond_marl.scenarios.own_files import is_file_name
from dond_marl.scenarios.sources import TO_TRAIN_ON, check_split, is_trainable, open_source
from dond_marl.seats import Traits
from partners.network.checkpoint_files import CheckpointError, read_pair
from partners.network.occupants import EXPERT, expert_path
from partners.rosters import HELD_OUT, LISTS, match_default_type, occupants_named, roster

ITSELF = ""  # in a past: the occupant that the past is of
MET, THROUGH, DESCENDS, UNKNOWN = "met", "met_through", "descends_from", "met_unknown"
NO_PLACE = -1  # met_through holds, for each entry of met, the place there of its trainer; this one: the note's occupant
KEYS = (MET, THROUGH, DESCENDS, UNKNOWN)  # keys of a note


class Ancestry(NamedTuple):
    """The past of an occupant, by identities.

    ``through``: for every opponent of it or of its ancestors, the ancestor that trained against it (``ITSELF``: the
    occupant). ``descends_from``: the occupants from whose weights or play it was made, sorted. ``unknown``: occupants
    in the past whose own opponents were not recorded, sorted; ``ITSELF`` for the occupant.
    """

    through: Mapping[str, str]
    descends_from: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def opponents(self) -> tuple[str, ...]:
        """The identities of all opponents in the past, sorted."""
        return tuple(sorted(self.through))

    def add_opponents(self, opponents: Iterable[OccupantProvenance]) -> Ancestry:
        """This past after training against ``opponents``: their pasts become part of it."""
        opponents = tuple(opponents)
        through = {**self.through, **{other.identity: ITSELF for other in opponents}}
        unknown = set(self.unknown)
        for name, past in opponents:
            for identity, by in past.through.items():
                through.setdefault(identity, by or name)
            unknown |= {identity or name for identity in past.unknown}
        return Ancestry(through, self.descends_from, tuple(sorted(unknown)))

    def add_parent(self, parent: OccupantProvenance) -> Ancestry:
        """This past for an occupant made from ``parent``, from its weights or its play."""
        parents = {*self.descends_from, parent.identity, *parent.past.descends_from}
        return self.add_opponents([parent])._replace(descends_from=tuple(sorted(parents)))

    def path(self, identity: str) -> tuple[str, ...]:
        """The chain of opponents that leads to ``identity``, from a direct opponent on."""
        path = [identity]
        while (by := self.through.get(path[-1], ITSELF)) != ITSELF and by not in path:
            path.append(by)
        return tuple(reversed(path))

    def note(self) -> dict[str, Any]:
        """The past as JSON values for a checkpoint's note; :func:`read_past` reads it back."""
        opponents = self.opponents
        number_of = {identity: number for number, identity in enumerate(opponents)}
        return {
            MET: list(opponents),
            THROUGH: [number_of.get(self.through[identity], NO_PLACE) for identity in opponents],
            DESCENDS: list(self.descends_from),
            UNKNOWN: list(self.unknown),
        }


class OccupantProvenance(NamedTuple):
    """An occupant's identity and past."""

    identity: str
    past: Ancestry


NO_PAST = Ancestry({})
UNKNOWN_PAST = Ancestry({}, unknown=(ITSELF,))


def read_past(note: Mapping[str, Any]) -> Ancestry:
    """The past in a checkpoint's note; unknown if the note has none."""
    if not all(key in note for key in KEYS):
        return UNKNOWN_PAST
    opponents, through, parents, unknown = (note[key] for key in KEYS)
    by = {name: opponents[number] if number >= 0 else ITSELF for name, number in zip(opponents, through, strict=True)}
    return Ancestry(by, tuple(sorted(parents)), tuple(sorted(unknown)))


OWN_PACKAGES = ("dond_marl", "partners", "league")
NETWORKS = ("checkpoint", "expert")
SCENARIOS = "scenarios of "  # prefix of the identity of a source with held-out views
DECLARED = "provenance"  # attribute of a factory, set by declare_provenance
WRITTEN = (bool, int, float, str, list, tuple, dict, type(None))  # types of parameters in an identity
FIELDS = "__dataclass_fields__"
WITHOUT_EFFECT = ("one_game",)  # parameters that change no decision
IN_WORDS = f"{', '.join(HELD_OUT[:-1])} and {HELD_OUT[-1]}"
HOW_TO_GO_ON = (
    f"The rosters {IN_WORDS} are for dond bench, dev2 and people_dev also for a league's last evaluation (heldout); no "
    "learner, and no partner that it learns from, may be trained against them. Leave out the named partner, or use one "
    "trained on the roster train"
)

AnyFactory = TypeVar("AnyFactory", bound=Callable[..., Any])


class ProvenanceError(InputError):
    """A policy would be, or was, trained against a held-out roster; the message names the chain of opponents."""


def human_dialogues(split: str) -> OccupantProvenance:
    """The people of the published dialogues in ``split``, as an occupant."""
    return OccupantProvenance(f"human dialogues, split {split}", NO_PAST)


def held_out_scenarios(source: str, split: str | None = None) -> list[OccupantProvenance]:
    """The entry of a past for training on a source with held-out views; empty for a source without.

    ``split``: by default the source's own default. Raises
    :class:`dond_marl.scenarios.sources.ScenarioError`.
    """
    part = check_split(source, split)
    if is_file_name(source):
        opened = open_source(source, max_count=MAX_COUNT)
        if opened.table is None or is_trainable(opened.table).all():
            return []
        source = f"{opened.label}, SHA-256 {opened.digest()[:12]}"
    elif (source, part) in TO_TRAIN_ON:
        return []
    return [OccupantProvenance(f"{SCENARIOS}{source}" + ("" if part is None else f", split {part}"), NO_PAST)]


def held_out_sources(past: Ancestry) -> list[str]:
    """The sources with held-out views in ``past``, by the identities of :func:`held_out_scenarios`, sorted."""
    return [identity for identity in past.opponents if identity.startswith(SCENARIOS)]


def declare_provenance(
    provenance: Callable[[Mapping[str, Any]], OccupantProvenance],
) -> Callable[[AnyFactory], AnyFactory]:
    """A decorator for the factory of a learned occupant; ``provenance`` is called with the parameters of a spec."""

    def mark(factory: AnyFactory) -> AnyFactory:
        setattr(factory, DECLARED, provenance)
        return factory

    return mark


def identity(spec: SpecLike) -> str:
    """The canonical text of an occupant: all defaults filled in, occupants inside too, files named by their SHA-256.

    The same on every machine. Raises :class:`dond_marl.occupants.OccupantNameError`, and
    :class:`partners.network.checkpoint_files.CheckpointError` for weights that cannot be read.
    """
    return provenance_of(spec).identity


def ancestry(spec: SpecLike) -> Ancestry:
    """The past of an occupant. Raises as :func:`identity` does."""
    return provenance_of(spec).past


def provenance_of(spec: SpecLike) -> OccupantProvenance:
    """An occupant's identity and past; builds no network and queries no service. Raises as :func:`identity` does."""
    spec, factory = find_factory(spec)
    kind, parameters = spec.kind, spec.parameters
    if kind in NETWORKS:
        return _network(kind, parameters)
    declared: Callable[[Mapping[str, Any]], OccupantProvenance] | None = getattr(factory, DECLARED, None)
    if declared is not None:
        return declared(parameters)
    signature = inspect.signature(factory).parameters
    inside = {name: [provenance_of(part) for part in parts] for name, parts in _inside(factory, parameters).items()}
    written: dict[str, Any] = {}
    for name, value in ({name: parameter.default for name, parameter in signature.items()} | dict(parameters)).items():
        default = signature[name].default if name in signature else None
        if name in inside:
            names = [part.identity for part in inside[name]]
            written[name] = names if _is_list_of_occupants(value) else names[0]
        elif isinstance(value, WRITTEN) and name not in WITHOUT_EFFECT:
            written[name] = _file(value) if name == "path" else match_default_type(value, default)
    past = UNKNOWN_PAST if _is_foreign(factory) else NO_PAST if inside else _of_program(spec, factory)
    inner = [part for parts in inside.values() for part in parts]
    return OccupantProvenance(Spec(kind, written).text, past.add_opponents(inner))


def refuse_test_roster(past: Ancestry, learner: str = "the learner", test: Iterable[Spec] | None = None) -> None:
    """Raise :class:`ProvenanceError` if a held-out partner is in ``past``, with the chain of opponents.

    ``learner``: name of the policy, for the message; ``test``: partners, by default those of the held-out rosters.
    """
    held_out = roster_test_members(past, test)
    if not held_out:
        return
    paths = [
        " <- ".join([learner, *map(label, past.path(member)[:-1]), label(member, short=False)]) for member in held_out
    ]
    listed = "; ".join(
        f"{path}, which is in the roster {_roster_of(member)}"
        for path, member in zip(paths[:3], held_out[:3], strict=True)
    )
    more = f"; and {len(paths) - 3} more" if len(paths) > 3 else ""
    raise ProvenanceError(f"{listed}{more}. {HOW_TO_GO_ON}")


def confirm_test_unseen(
    past: Ancestry, name: str, declared: str | None = None, test: Iterable[Spec] | None = None
) -> str:
    """Check that a policy may be scored against held-out partners; returns the evidence for the row of its result.

    ``declared``: the submitter's words about the parts of the past that were not recorded; ``test``: as for
    :func:`refuse_test_roster`. Raises :class:`ProvenanceError` if one of them is in ``past``, or if parts are unknown
    and not declared.
    """
    refuse_test_roster(past, name, test)
    if not past.unknown:
        return f"known: {len(past.opponents)} in its past, none of the rosters {IN_WORDS}"
    paths = [" <- ".join([name, *map(label, past.path(part))]) if part else name for part in past.unknown]
    if declared is None:
        raise ProvenanceError(
            f"the opponents in training were not recorded for: {'; '.join(paths[:3])}. Train anew, so that the "
            "checkpoint notes them, or declare them (dond bench --declare): the row of the result shows your words"
        )
    return f"declared: {declared} (not written down for {'; '.join(paths)})"


def confirm_opponents_unseen(
    opponents: Iterable[SpecLike], past: Ancestry, name: str, declared: str | None = None
) -> str | None:
    """The check before every evaluation: :func:`confirm_test_unseen` if ``opponents`` contain held-out partners.

    A member of their rosters counts however it is written, also inside a mixture or in the past of an opponent;
    ``None`` without one. Raises what :func:`confirm_test_unseen` and :func:`provenance_of` raise.
    """
    return confirm_test_unseen(past, name, declared) if held_out_rosters(opponents) else None


def held_out_rosters(specs: Iterable[SpecLike]) -> set[str]:
    """The held-out rosters with members among ``specs``, also inside a mixture or in the past of one of them."""
    return set(map(_roster_of, roster_test_members(NO_PAST.add_opponents(map(provenance_of, specs)))))


def roster_test_members(past: Ancestry, test: Iterable[Spec] | None = None) -> list[str]:
    """The identities in ``past`` that are, or play exactly like, held-out partners, or those of ``test``; sorted."""
    if not past.through:
        return []
    members = _held_out_keys() if test is None else {_key(identity(spec)) for spec in test}
    return [opponent for opponent in past.opponents if _key(opponent) in members] if members else []


@lru_cache(maxsize=1)
def _held_out_keys() -> dict[str, str]:
    """The held-out roster by key of each of its members."""
    return {_key(identity(spec)): name for name in HELD_OUT for spec in roster(name)}


def _roster_of(identity: str) -> str:
    return _held_out_keys().get(_key(identity), "of held-out partners")


def programs(spec: Spec) -> frozenset[str]:
    """The programs (classes) of an occupant and of the occupants inside it, as in ``trembling(of=linear)``.

    Classes that differ in defaults only are one program, such as ``linear`` and ``boulware``. No weights are read; an
    occupant that is not installed is a program of its own.
    """
    kind, parameters = spec.kind, spec.parameters
    factory = catalogue().get(kind)
    if factory is None or kind in NETWORKS or hasattr(factory, DECLARED):
        return frozenset({kind})
    program = _program(factory) if isinstance(factory, type) else kind
    parts = [read_spec(part) for several in _inside(factory, parameters).values() for part in several]
    return frozenset({program}).union(*(programs(part) for part in parts if part is not None))


def label(identity: str, *, short: bool = True) -> str:
    """``expert``, ``checkpoint 3fa2c4d5e6f7``, ``linear(exponent=2.0)``; others inside are left out if ``short``."""
    spec = read_spec(identity)
    if spec is None:
        return identity
    kind, parameters = spec.kind, spec.parameters
    if "sha256" in parameters:
        sha256 = str(parameters["sha256"])
        return "expert" if sha256 == _shipped_digest() else f"{kind} {sha256[:12]}"
    if short and kind == "learner":
        return str(parameters.get("name"))
    factory = catalogue().get(kind)
    signature = {} if factory is None else inspect.signature(factory).parameters
    if short and (hasattr(factory, DECLARED) or any(map(_takes_occupants, signature.values()))):
        return kind
    usual = {name: parameter.default for name, parameter in signature.items()}
    return Spec(kind, {name: value for name, value in parameters.items() if value != usual.get(name)}).text


def _network(kind: str, parameters: Mapping[str, Any]) -> OccupantProvenance:
    """The provenance of a checkpoint, or of its fallback if it cannot be read."""
    expert = kind == "expert"
    if expert:
        path = expert_path(**{name: value for name, value in parameters.items() if name in ("path", "kind")})
    else:
        path = Path(str(parameters["path"]))
    try:
        _, note = read_pair(path)
    except CheckpointError:
        if parameters.get("fallback") is None:
            raise
        return provenance_of(parameters["fallback"])
    greedy = parameters.get("greedy", expert)
    return OccupantProvenance(
        Spec("checkpoint", {"greedy": greedy, "sha256": note.get("sha256")}).text, read_past(note)
    )


def _of_program(spec: Spec, factory: Callable[..., Any]) -> Ancestry:
    """The past of an occupant without others inside: none if it is scripted. One with fixed traits is not made."""
    declared = inspect.getattr_static(factory, "traits", None)
    traits = declared if isinstance(declared, Traits) else seat_occupant(spec).traits
    return UNKNOWN_PAST if traits.learned or traits.remote else NO_PAST


def _is_foreign(factory: object) -> bool:
    """Whether a factory belongs to another package; its occupants may have been trained against any partner."""
    return str(getattr(factory, "__module__", "")).partition(".")[0] not in OWN_PACKAGES


def _inside(factory: Callable[..., Any], parameters: Mapping[str, Any]) -> dict[str, list[SpecLike]]:
    """The occupants that ``parameters`` of a factory, and its defaults, name; lists by name in full."""
    occupants: dict[str, list[SpecLike]] = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        value = parameters.get(name, parameter.default)
        if _takes_occupants(parameter) and value is not None and value is not parameter.empty:
            if isinstance(value, list | tuple):
                occupants[name] = list(value)
            else:
                occupants[name] = list(occupants_named(value)) if _is_list_of_occupants(value) else [value]
    return occupants


def _takes_occupants(parameter: inspect.Parameter) -> bool:
    """Whether a parameter takes occupants, by its annotation: ``SpecLike``, ``Partner`` or a sequence of them."""
    written = str(parameter.annotation)
    return "Spec" in written or "Partner" in written


def _is_list_of_occupants(value: object) -> bool:
    return isinstance(value, list | tuple) or value in LISTS


def _file(value: object) -> object:
    """The SHA-256 of a file's content, or its name if it cannot be read."""
    try:
        return hashlib.sha256(read_bytes(user_path(str(value)), 2**30)).hexdigest()
    except (OSError, InputError):
        return Path(str(value)).name


def _key(identity: str) -> str:
    """A text that is equal for occupants that play alike: a network greedy or not, a class with other defaults."""
    spec = read_spec(identity)
    if spec is None:
        return identity
    kind, parameters = spec.kind, spec.parameters
    if "sha256" in parameters:
        return f"{kind} {parameters['sha256']}"
    factory = catalogue().get(kind)
    if kind == "negmas":  # wherever it is installed, and however long it may take
        return f"{kind} {parameters.get('agent')} {parameters.get('parameters') or {}}"
    return f"{_program(factory)} {sorted(parameters.items())}" if isinstance(factory, type) else identity


def _program(factory: type) -> str:
    """The class that implements a partner: the parent of a subclass that changes defaults only."""
    program = factory
    for parent in factory.__mro__[1:-1]:
        defined = {name for name in vars(program) if not name.startswith("__")} - getattr(program, FIELDS, {}).keys()
        if defined or not hasattr(parent, "act"):
            break
        program = parent
    return f"{program.__module__}.{program.__qualname__}"


def _shipped_digest() -> str | None:
    """The SHA-256 of the shipped expert's weights."""
    try:
        return str(read_pair(EXPERT)[1].get("sha256"))
    except CheckpointError:  # no shipped expert: no digest
        return None
