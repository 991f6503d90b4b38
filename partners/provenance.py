"""Who has met whom: the identity of an occupant, everybody in its past, and why the test roster may not be in it.

A network learns from whomever it meets, and its teachers, hinters and first weights pass on what they learned. So every
checkpoint, league member and distilled model notes everybody in its past: whom it met, and whom those had met. Nobody
of the roster *test* (:mod:`partners.rosters`) may be among them, else a score against that roster is no test.

What a network is called does not depend on where its file lies: it is named by the SHA-256 of its weights. A partner
that follows a program has no past but that of the occupants inside it, as in ``mixture(of=[...])``. The factory of an
occupant that learned says whom it met with :func:`tells`; of one that does not say, it is not known, and no more of any
factory of another package, whatever the traits of its occupants.

This module loads no PyTorch.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard, TypeVar

from dond_marl.errors import InputError
from dond_marl.occupants import OccupantNameError, Spec, catalogue, check_spec, parse_spec, seat_occupant, spec_name
from dond_marl.scenarios.sources import TO_TRAIN_ON, check_split
from partners.network.checkpoint_files import CheckpointError, read_pair
from partners.network.occupants import EXPERT, expert_path
from partners.rosters import ROSTERS, TEST, TRAIN, as_default, roster

ITSELF = ""  # in a past: whoever the past is of
MET, THROUGH, DESCENDS, UNKNOWN = "met", "met_through", "descends_from", "met_unknown"
NO_PLACE = -1  # in met_through, which holds of everybody in met the place there of who met them: whoever the note is of
KEYS = (MET, THROUGH, DESCENDS, UNKNOWN)  # of a note


class Ancestry(NamedTuple):
    """Everybody in somebody's past, by identity.

    ``through``: of everybody whom it or its ancestors met, who met them (``ITSELF``: it did). ``descends_from``: whose
    weights or play it was made from, sorted. ``unknown``: those of its past whose meetings nobody wrote down, sorted;
    ``ITSELF`` where that is so of itself.
    """

    through: Mapping[str, str]
    descends_from: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def met(self) -> tuple[str, ...]:
        """The identities of all, sorted."""
        return tuple(sorted(self.through))

    def meets(self, others: Iterable[Known]) -> Ancestry:
        """The same past after it has met ``others``: all of their past is in its own."""
        others = tuple(others)
        through = {**self.through, **{other.identity: ITSELF for other in others}}
        unknown = set(self.unknown)
        for name, past in others:
            for identity, by in past.through.items():
                through.setdefault(identity, by or name)
            unknown |= {identity or name for identity in past.unknown}
        return Ancestry(through, self.descends_from, tuple(sorted(unknown)))

    def descends(self, parent: Known) -> Ancestry:
        """The same past of somebody who was made from ``parent``: from its weights, or from its play."""
        parents = {*self.descends_from, parent.identity, *parent.past.descends_from}
        return self.meets([parent])._replace(descends_from=tuple(sorted(parents)))

    def also(self, other: Ancestry) -> Ancestry:
        """Everybody of this past and of an ``other`` one of the same learner, as after a resumption."""
        through, parents = {**other.through, **self.through}, {*self.descends_from, *other.descends_from}
        return Ancestry(through, tuple(sorted(parents)), tuple(sorted({*self.unknown, *other.unknown})))

    def path(self, identity: str) -> tuple[str, ...]:
        """How somebody in this past was met: from the one who met first, who is it or an ancestor, to ``identity``."""
        path = [identity]
        while (by := self.through.get(path[-1], ITSELF)) != ITSELF and by not in path:
            path.append(by)
        return tuple(reversed(path))

    def note(self) -> dict[str, Any]:
        """What a checkpoint notes of it, as plain JSON values; :func:`past_in` reads it back."""
        met = self.met
        place = {identity: number for number, identity in enumerate(met)}
        return {
            MET: list(met),
            THROUGH: [place.get(self.through[identity], NO_PLACE) for identity in met],
            DESCENDS: list(self.descends_from),
            UNKNOWN: list(self.unknown),
        }


class Known(NamedTuple):
    """An occupant's identity and its past."""

    identity: str
    past: Ancestry


NOBODY = Ancestry({})
NOT_KNOWN = Ancestry({}, unknown=(ITSELF,))


def past_in(note: Mapping[str, Any]) -> Ancestry:
    """The past that a checkpoint's note holds; of one without, it is not known."""
    met, through, parents, unknown = (note.get(key) for key in KEYS)
    if not (_is_texts(met) and _is_texts(parents) and _is_texts(unknown) and isinstance(through, list)):
        return NOT_KNOWN
    if len(through) != len(met) or not all(type(place) is int and NO_PLACE <= place < len(met) for place in through):
        return NOT_KNOWN
    by = {name: met[place] if place >= 0 else ITSELF for name, place in zip(met, through, strict=True)}
    return Ancestry(by, tuple(sorted(parents)), tuple(sorted(unknown)))


def _is_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


OWN_PACKAGES = ("dond_marl", "partners", "league")
NETWORKS = ("checkpoint", "expert")
SCENARIOS = "scenarios of "  # how the identity of a source begins whose scenarios hold views that are held out
TELLS = "provenance"  # the attribute of a factory that says whom its occupants met
WRITTEN = (bool, int, float, str, list, tuple, dict, type(None))  # what a parameter may be in an identity
FIELDS = "__dataclass_fields__"
WITHOUT_EFFECT = ("one_game",)  # parameters that change no decision
HOW_TO_GO_ON = (
    "The roster test is for dond bench and for a league's last evaluation (heldout: test); nobody who learns, and "
    "nobody it learned from, may have met it. Leave out who is named, or take one that met the roster train alone"
)

AnyFactory = TypeVar("AnyFactory", bound=Callable[..., Any])


class ProvenanceError(InputError):
    """Somebody would learn, or has learned, from the test roster; the message names the path that leads there."""


def people(split: str) -> Known:
    """The people of the published dialogues, in the part ``split`` of them."""
    return Known(f"human dialogues, split {split}", NOBODY)


def scenarios(source: str, split: str | None = None) -> list[Known]:
    """What a past notes of the scenarios that were learned on: their source where it holds views that are held out.

    Nothing where it holds none. ``split``: by default the source's own default. Raises
    :class:`dond_marl.scenarios.sources.ScenarioError`.
    """
    part = check_split(source, split)
    if (source, part) in TO_TRAIN_ON:
        return []
    return [Known(f"{SCENARIOS}{source}" + ("" if part is None else f", split {part}"), NOBODY)]


def held_out_in(past: Ancestry) -> list[str]:
    """The sources in ``past`` that hold views that are held out, as :func:`scenarios` calls them; sorted."""
    return [identity for identity in past.met if identity.startswith(SCENARIOS)]


def tells(whom_it_met: Callable[[Mapping[str, Any]], Known]) -> Callable[[AnyFactory], AnyFactory]:
    """A decorator for an occupant's factory: ``whom_it_met`` is handed the parameters of a spec."""

    def marked(factory: AnyFactory) -> AnyFactory:
        setattr(factory, TELLS, whom_it_met)
        return factory

    return marked


def identity(spec: Spec) -> str:
    """The one text for an occupant: every default filled in, occupants inside too, a file named by its SHA-256.

    The same on every machine. Raises :class:`dond_marl.occupants.OccupantNameError`, and
    :class:`partners.network.checkpoint_files.CheckpointError` for weights that cannot be read.
    """
    return known(spec).identity


def ancestry(spec: Spec) -> Ancestry:
    """Everybody in an occupant's past. Raises as :func:`identity` does."""
    return known(spec).past


def known(spec: Spec) -> Known:
    """An occupant's identity and its past; no network is built and nobody is asked. Raises as :func:`identity` does."""
    kind, given = parse_spec(spec)
    factory = check_spec(spec)
    if kind in NETWORKS:
        return _network(kind, given)
    told: Callable[[Mapping[str, Any]], Known] | None = getattr(factory, TELLS, None)
    if told is not None:
        return told(given)
    signature = inspect.signature(factory).parameters
    filled = {name: given.get(name, parameter.default) for name, parameter in signature.items()} | given
    parts: list[Known] = []
    written: dict[str, Any] = {}
    for name, value in filled.items():
        default = signature[name].default if name in signature else None
        if name in signature and _takes_occupants(signature[name]) and value is not None:
            inside = [known(part) for part in _occupants(value)]
            parts += inside
            written[name] = [part.identity for part in inside] if _are_several(value) else inside[0].identity
        elif isinstance(value, WRITTEN) and name not in WITHOUT_EFFECT:
            written[name] = _file(value) if name == "path" else as_default(value, default)
    own = NOT_KNOWN if _is_foreign(factory) else NOBODY if parts else _of_program(spec)
    return Known(spec_name({"kind": kind, **written}), own.meets(parts))


def without_files(spec: Spec) -> Known:
    """The same of somebody who took part once, on another day: weights that a spec names may have changed since."""
    kind, _ = parse_spec(spec)
    return known(spec) if kind in catalogue() and not _reads_weights(spec) else Known(spec_name(spec), NOT_KNOWN)


def refuse_test(specs: Iterable[Spec], learner: str = "the learner", test: Iterable[Spec] | None = None) -> None:
    """Raise :class:`ProvenanceError`, naming the path, if who meets ``specs`` would meet the roster test through them.

    ``learner``: what to call who meets them; ``test``: other members than those of the package's roster.
    """
    refuse_past(NOBODY.meets(map(known, specs)), learner, test)


def refuse_past(past: Ancestry, learner: str = "the learner", test: Iterable[Spec] | None = None) -> None:
    """Raise :class:`ProvenanceError`, naming the paths, where somebody of the roster test is in ``past``."""
    found = of_test_in(past, test)
    if not found:
        return
    paths = [" <- ".join([learner, *map(label, past.path(each)[:-1]), _in_full(each)]) for each in found]
    listed = "; ".join(f"{path}, which is in the roster test" for path in paths[:3])
    more = f"; and {len(paths) - 3} more" if len(paths) > 3 else ""
    raise ProvenanceError(f"{listed}{more}. {HOW_TO_GO_ON}")


def refuse_judged(past: Ancestry, who: str, declared: str | None = None, test: Iterable[Spec] | None = None) -> str:
    """In what words it is known that ``who``, judged by the roster test, has not met it: for the row of its result.

    ``declared``: what whoever submits it says of a past, or a part of it, that nobody wrote down. Raises
    :class:`ProvenanceError` where it has met somebody of that roster, or where nothing is known and nothing declared.
    """
    refuse_past(past, who, test)
    if not past.unknown:
        return f"known: {len(past.met)} in its past, none of the roster test"
    paths = [" <- ".join([who, *map(label, past.path(name))]) if name else who for name in past.unknown]
    if declared is None:
        raise ProvenanceError(
            f"nobody wrote down whom these met: {'; '.join(paths[:3])}. Train anew, so that the checkpoint notes it, "
            "or declare whom it met (dond bench --declare): the row of the result will show your words"
        )
    return f"declared: {declared} (not written down for {'; '.join(paths)})"


def refuse_judged_by(opponents: Iterable[Spec], past: Ancestry, who: str, declared: str | None = None) -> str | None:
    """:func:`refuse_judged` where one of ``opponents`` is of the roster test, or leads to it; else ``None``.

    However they are written, and within a mixture too. Raises what :func:`refuse_judged` and :func:`known` raise.
    """
    return refuse_judged(past, who, declared) if of_test_in(NOBODY.meets(map(known, opponents))) else None


def of_test_in(past: Ancestry, test: Iterable[Spec] | None = None) -> list[str]:
    """The identities in ``past`` that are members of the roster test, or play as one of them does; sorted."""
    if not past.through:
        return []
    members = {_key(identity(spec)) for spec in (roster(TEST) if test is None else test)}
    return [each for each in past.met if _key(each) in members] if members else []


def programs(spec: Spec) -> frozenset[str]:
    """By which programs an occupant plays: its own, and those of all inside it, as in ``trembling(of=linear)``.

    Classes that differ in defaults alone are one program, as ``linear`` and ``boulware``. No weights are read, and an
    occupant that is not installed here is its own kind of program. Raises
    :class:`dond_marl.occupants.OccupantNameError` for what is no spec.
    """
    kind, given = parse_spec(spec)
    factory = catalogue().get(kind)
    if factory is None or kind in NETWORKS or hasattr(factory, TELLS):
        return frozenset({kind})
    found = {_program(factory) if isinstance(factory, type) else kind}
    for name, parameter in inspect.signature(factory).parameters.items():
        value = given.get(name, parameter.default)
        if _takes_occupants(parameter) and value is not None and value is not parameter.empty:
            found |= {program for part in _occupants(value) for program in programs(part)}
    return frozenset(found)


def label(identity: str) -> str:
    """A short name for a path: ``expert``, ``mixture``, ``checkpoint 3fa2c4d5e6f7``, ``linear(exponent=2.0)``."""
    try:
        kind, parameters = parse_spec(identity)
    except OccupantNameError:
        return identity
    if "sha256" in parameters:
        sha256 = str(parameters["sha256"])
        return "expert" if sha256 == _shipped() else f"{kind} {sha256[:12]}"
    if kind == "learner":
        return str(parameters.get("name"))
    factory = catalogue().get(kind)
    signature = {} if factory is None else inspect.signature(factory).parameters
    return kind if hasattr(factory, TELLS) or any(map(_takes_occupants, signature.values())) else _in_full(identity)


def _in_full(identity: str) -> str:
    """An identity without the parameters that are at their defaults; a network by its label."""
    try:
        kind, parameters = parse_spec(identity)
    except OccupantNameError:
        return identity
    if "sha256" in parameters:
        return label(identity)
    factory = catalogue().get(kind)
    signature = {} if factory is None else inspect.signature(factory).parameters
    usual = {name: parameter.default for name, parameter in signature.items()}
    return spec_name({"kind": kind, **{name: value for name, value in parameters.items() if value != usual.get(name)}})


def _network(kind: str, given: Mapping[str, Any]) -> Known:
    """A network of this project in a file, or who stands in for it."""
    expert = kind == "expert"
    if expert:
        path = expert_path(**{name: value for name, value in given.items() if name in ("path", "kind")})
    else:
        path = Path(str(given["path"])).expanduser()
    try:
        _, note = read_pair(path)
    except CheckpointError:
        if given.get("fallback") is None:
            raise
        return known(given["fallback"])
    greedy = given.get("greedy", expert)
    return Known(spec_name({"kind": "checkpoint", "greedy": greedy, "sha256": note.get("sha256")}), past_in(note))


def _of_program(spec: Spec) -> Ancestry:
    """The past of an occupant with nobody inside: none where it follows a program."""
    traits = seat_occupant(spec).traits
    return NOT_KNOWN if traits.learned or traits.remote else NOBODY


def _is_foreign(factory: object) -> bool:
    """Whether a factory is of another package than this project's, whose occupants may have learned from anybody."""
    return str(getattr(factory, "__module__", "")).partition(".")[0] not in OWN_PACKAGES


def _reads_weights(spec: Spec) -> bool:
    """Whether a spec, or one inside it, names weights or a model, which lie in files."""
    kind, given = parse_spec(spec)
    signature = inspect.signature(check_spec(spec)).parameters
    inside = [part for name, value in given.items() if name in signature and _takes_occupants(signature[name])
              for part in _occupants(value)]  # fmt: skip
    return kind in NETWORKS or hasattr(catalogue()[kind], TELLS) or any(map(_reads_weights, inside))


def _takes_occupants(parameter: inspect.Parameter) -> bool:
    """By its annotation: ``Spec``, ``Partner``, or a sequence of them."""
    written = str(parameter.annotation)
    return "Spec" in written or "Partner" in written


def _are_several(value: object) -> bool:
    return isinstance(value, list | tuple) or value == "zoo" or value in ROSTERS


def _occupants(value: Any) -> Iterator[Spec]:
    """The occupants that a parameter names; ``zoo`` is the roster train."""
    if value == "zoo" or value in ROSTERS:
        yield from roster(TRAIN if value == "zoo" else value)
    elif isinstance(value, list | tuple):
        yield from value
    else:
        yield value


def _file(value: object) -> object:
    """What a file holds, in place of where it lies."""
    try:
        return hashlib.sha256(Path(str(value)).expanduser().read_bytes()).hexdigest()
    except OSError:
        return Path(str(value)).name


def _key(identity: str) -> str:
    """The same text for those who play alike: a network greedy or not, a class and one with other defaults."""
    try:
        kind, parameters = parse_spec(identity)
    except OccupantNameError:
        return identity
    if "sha256" in parameters:
        return f"{kind} {parameters['sha256']}"
    factory = catalogue().get(kind)
    return f"{_program(factory)} {sorted(parameters.items())}" if isinstance(factory, type) else identity


def _program(factory: type) -> str:
    """The class whose program a partner plays by: a subclass that changes defaults alone plays by its parent's."""
    program = factory
    for parent in factory.__mro__[1:-1]:
        own = {name for name in vars(program) if not name.startswith("__")} - getattr(program, FIELDS, {}).keys()
        if own or not hasattr(parent, "act"):
            break
        program = parent
    return f"{program.__module__}.{program.__qualname__}"


def _shipped() -> str | None:
    """The SHA-256 of the shipped expert's weights."""
    try:
        return str(read_pair(EXPERT)[1].get("sha256"))
    except CheckpointError:  # who is not there has no name
        return None
