"""Occupants by name: ``"heuristic"``, ``"boulware(exponent=4)"``, ``{"kind": "boulware", "exponent": 4}``.

:func:`parse_spec` makes a :class:`Spec` of such a text or mapping where it enters: in settings, a ledger, a command, a
page or a Python call. Its ``kind`` is resolved by the entry-point group ``dond_marl.partners``. An entry is either a
dict of factories, as the built-in catalogue of the package ``partners``, or one factory under its own name. Without an
installation the built-in catalogue is found by its module name. A factory takes its parameters by keyword and returns a
partner.

``"my_file.py:Melting(rate=2)"`` names a class or function in a file, without any installation; relative paths begin in
the current directory, and the file runs on first use. :func:`pin_spec` adds the file's digest as ``sha256=...``: a
pinned spec is refused once the file has changed.

A user's own words may also name a run or a league's member, ``"ppo_fast/0001"`` (:func:`expand_run_name`).

What a name needs beyond this project (``needs``: code, files, services, keys) is allowed where the user wrote it. Names
that were read in a file of another origin, or sent by a visitor of a page, go through :func:`check_needs` first.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib
import inspect
import keyword
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path, PurePath
from types import MappingProxyType, ModuleType
from typing import Any, Literal, NamedTuple, Self, cast, get_args

from dond_marl.errors import Blame, InputError, MissingLibrary, UntrustedError, error_line, missing_library, quote
from dond_marl.files import read_bytes, user_path
from dond_marl.seats import Partner, Traits, partner_name

FEW = 12  # names that a message lists
YAML_VALUES: dict[str, Any] = {"null": None, "true": True, "false": False}  # bare words that are parsed as in a config
IN_FILE = re.compile(r"(?P<file>[^()'\"]+\.py):(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<given>\(.*\))?", re.DOTALL)
DIGEST = "sha256"  # the parameter that pins a file; 16 of the 64 digits
MOST_CODE = 2**20  # bytes of such a file
MOST_PROGRAM = 2**26  # bytes of a program of the public haggling form: its challenge's own bound
GROUP = "dond_marl.partners"
BUILTIN = "partners.catalogue"
RUN_NAMES = "league.ledger.run_names"  # by its name, like BUILTIN: this package imports neither
Factory = Callable[..., Partner]
SpecLike = str | Mapping[str, Any]  # text or mapping, as :func:`parse_spec` takes them; a Spec is a str
Need = Literal["code", "file", "service", "key"]
# Parameters that reach beyond this project, whatever their value is.
NEED_OF: Mapping[str, Need] = {
    "address": "service",
    "agent": "code",
    "base_url": "service",
    "call": "code",
    "cache": "file",
    "interface": "code",
    "key_env": "key",
    "path": "file",
    "prompt_path": "file",
    "python": "code",
}
HARMLESS = ("name", DIGEST)  # parameters whose text names nothing
QUERYING = ("llm", "llm_judge")  # kinds that query a language model, with the key of its provider
WEIGHTS = ("checkpoint", "expert")  # kinds whose ``path`` is read as weights; nothing in such a file is run
PROGRAM = "agent"  # the kind whose ``path`` is a program that runs
CHALLENGE = "https://github.com/hola/challenge_haggling"  # programs that people wrote, in a folder of that name
UNNAMED = {PROGRAM: "path", "checkpoint": "path"}  # the parameter that a text may begin with unnamed


class OccupantNameError(InputError):
    """An unknown occupant name, or parameters that the occupant does not take."""


class Spec(str):
    """The name of an occupant or a reward: its canonical text, with its parts.

    Being its text, it is a key, a cell and a stored value as it stands. ``kind``: a name of a catalogue, or a factory
    in a file; ``parameters``: by name, where occupants inside stay text; ``needs``: what it uses beyond this project,
    occupants inside included. Made of its parts, or of text by :func:`parse_spec`. Raises :class:`OccupantNameError`
    for parameters that cannot be written as text.
    """

    kind: str
    parameters: Mapping[str, Any]
    needs: frozenset[Need]

    def __new__(cls, kind: str, parameters: Mapping[str, Any] = MappingProxyType({})) -> Self:
        self = super().__new__(cls, _spec_text(kind, parameters))
        vars(self).update(kind=kind, parameters=MappingProxyType(dict(parameters)))
        vars(self).update(needs=frozenset(needs_of(self)))
        return self

    def __setattr__(self, name: str, _value: object) -> None:
        raise AttributeError(f"a Spec does not change: {name} cannot be set")

    def __reduce__(self) -> tuple[type[Spec], tuple[str, dict[str, Any]]]:
        return Spec, (self.kind, dict(self.parameters))

    @property
    def text(self) -> str:
        """The canonical form, ``boulware(exponent=4)``, parameters sorted: it is parsed as this spec and no other."""
        return str(self)

    @property
    def arguments(self) -> dict[str, Any]:
        """The parameters that the factory takes: without the digest that pins its file."""
        return {k: v for k, v in self.parameters.items() if not (k == DIGEST and names_file(self.kind))}

    def with_parameters(self, **parameters: Any) -> Spec:
        """This spec with some parameters set."""
        return Spec(self.kind, {**self.parameters, **parameters})

    def without(self, *names: str) -> Spec:
        """This spec without some parameters."""
        return Spec(self.kind, {name: value for name, value in self.parameters.items() if name not in names})


class Permission(NamedTuple):
    """Permission for names of another origin: what they may use, and folders of weights that they may read anyway."""

    needs: frozenset[Need] = frozenset()
    folders: tuple[Path, ...] = ()


NOTHING, ANYTHING = Permission(), Permission(frozenset(get_args(Need)))
HOW_TO_TRUST = "if you trust its author, add --trust (in Python: trust=True)"


def check_needs(specs: Iterable[Spec], allow: Permission, origin: str, advice: str = HOW_TO_TRUST) -> None:
    """Check what names of another origin need, before one of them is looked up or made.

    ``origin``: the file or visitor that they come from; ``advice``: how to allow more. Raises
    :class:`~dond_marl.errors.UntrustedError` with every name that needs more than ``allow``.
    """
    refused = {spec: needs for spec in specs if (needs := missing_needs(spec, allow))}
    if refused:
        uses = [f"{spec} ({', '.join(sorted(needs))})" for spec, needs in refused.items()]
        raise UntrustedError(origin, tuple(uses), advice)


def missing_needs(spec: Spec, allow: Permission) -> frozenset[Need]:
    """The needs of ``spec`` that ``allow`` lacks."""
    if spec.needs <= allow.needs:
        return frozenset()
    return frozenset(needs_of(spec, allow.folders)) - allow.needs


def needs_of(spec: Spec, folders: Iterable[Path] = ()) -> Iterator[Need]:
    """The needs of a spec, occupants inside included; weights under one of the ``folders`` need nothing."""
    if names_file(spec.kind) or spec.kind == PROGRAM:
        yield "code"
    if spec.kind in QUERYING:
        yield "service"
        yield "key"
    for name, value in spec.parameters.items():
        if name == "path" and spec.kind in WEIGHTS and _is_inside(value, folders):
            continue
        yield from _needs_of_value(name, value, folders)


def _needs_of_value(name: str, value: object, folders: Iterable[Path]) -> Iterator[Need]:
    if value is None or (name in HARMLESS and isinstance(value, str)):
        return
    if name in NEED_OF:
        yield NEED_OF[name]
    elif isinstance(value, Mapping) and "kind" not in value:
        for key, part in value.items():
            yield from _needs_of_value("", key, folders)
            yield from _needs_of_value(str(key), part, folders)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _needs_of_value(name, part, folders)
    elif isinstance(value, bytes):
        yield "file"
    elif isinstance(value, Mapping | str) and not (is_plain_name(str(value)) and value not in QUERYING):
        inside = read_spec(value)
        if inside is None:  # free text, which may be opened as a file
            yield "file"
        else:
            yield from needs_of(inside, folders)


def _is_inside(path: object, folders: Iterable[Path]) -> bool:
    try:
        file = user_path(str(path)).resolve()
        return any(file.is_relative_to(folder.resolve()) for folder in folders)
    except (OSError, ValueError):  # a loop of links, a null character, no home folder
        return False


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Factory]:
    """The factories of all occupants by name, sorted. Raises :class:`OccupantNameError` for a name registered twice."""
    factories: dict[str, Factory] = dict(importlib.import_module(BUILTIN).PARTNERS)
    for entry in entry_points(group=GROUP):
        if entry.value.split(":")[0] == BUILTIN:
            continue
        try:
            loaded = entry.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001  # one broken third-party package must not break the others
            reason = f"{entry.value} does not load: {error_line(error)}"
            loaded = _raising(OccupantNameError(f"{quote(entry.name)} cannot be used: {reason}"))
        added = dict(loaded) if isinstance(loaded, Mapping) else {entry.name: loaded}
        doubled = sorted(factories.keys() & added.keys())
        if doubled:
            raise OccupantNameError(f"{entry.value} registers {', '.join(doubled)} in {GROUP}, which is taken already")
        factories.update(added)
    return dict(sorted(factories.items()))


def seat_occupant(
    spec: SpecLike | Partner, *, one_game: bool = False, runs: bool = False, trust: bool = False
) -> Partner:
    """The partner of a ``spec``; a partner object is returned unchanged. Raises :class:`OccupantNameError`.

    ``runs``: a text may also name a run or a member of a league, as on the command line: ``ppo_fast/0001``,
    ``runs/league/0001:main``; ``trust`` as for :func:`expand_run_name`. ``one_game``: the partner will play one game at
    a time; passed on to occupants with a parameter of that name. Names of another origin than the user go through
    :func:`check_needs` first.

    Raises :class:`~dond_marl.errors.MissingLibrary` where it needs a library that is not installed.
    """
    if isinstance(spec, Partner) and not isinstance(spec, type):
        return spec
    if isinstance(spec, type):
        raise OccupantNameError(f"an occupant is a partner, not its class: give {spec.__name__}()")
    if not isinstance(spec, str | Mapping):
        raise OccupantNameError(
            f"an occupant is a name, a mapping with 'kind', or a partner; got {type(spec).__name__}: {quote(spec)}"
        )
    spec, factory = find_factory(expand_run_name(spec, trust=trust) if runs else spec)
    kind, parameters = spec.kind, spec.arguments
    if one_game and "one_game" in inspect.signature(factory).parameters:
        parameters = {"one_game": True, **parameters}

    def failure(error: BaseException) -> InputError:
        missing = isinstance(error, ModuleNotFoundError) and missing_library(error, f"the occupant {quote(kind)}")
        if missing:
            return missing
        name, _, reason = error_line(error).partition(": ")
        if isinstance(error, ValueError):  # its message is written for the user
            return OccupantNameError(f"{quote(kind)}: {reason}")
        cause = f"{reason} ({name})" if reason else name.removesuffix(":")
        return OccupantNameError(f"{quote(kind)} cannot be made: {cause}")

    with Blame(failure, OccupantNameError, MissingLibrary):
        partner = factory(**parameters)
    if not isinstance(partner, Partner) or not isinstance(partner.traits, Traits):
        raise OccupantNameError(
            f"{quote(kind)} is no partner: {type(partner).__name__} needs act(turns) and traits (docs/TUTORIAL.md)"
        )
    return partner


def occupant_name(occupant: SpecLike | Partner) -> str:
    """The name of an occupant for people: its canonical spec, or the name of a partner object."""
    return parse_spec(occupant).text if isinstance(occupant, str | Mapping) else partner_name(occupant)


def expand_run_name(spec: SpecLike, *, trust: bool = False) -> Spec:
    """The spec that a user names, which may be that of a run or of a member; names of occupants come first.

    ``trust``: the spec of a league's member, which stands in its run folder, may need code, files, services or keys.
    Raises :class:`~dond_marl.errors.UntrustedError` if it does without ``trust``, and :class:`OccupantNameError` for a
    run without a checkpoint and a league without that member.
    """
    named = read_spec(spec)
    if isinstance(spec, str) and (named is None or not (named.kind in catalogue() or names_file(named.kind))):
        of_run: Spec | None = importlib.import_module(RUN_NAMES).spec_of_run(spec, named, trust=trust)
        if of_run is not None:
            return of_run
    return parse_spec(spec)


def find_factory(spec: SpecLike) -> tuple[Spec, Factory]:
    """The spec that is named, and its factory, once the parameters' names are checked.

    No partner is made and no weights are read, but the code of a file runs. Raises :class:`OccupantNameError`.
    """
    spec = parse_spec(spec)
    return spec, check_factory("occupant", catalogue(), spec)


def check_factory(noun: str, factories: Mapping[str, Callable[..., Any]], spec: Spec) -> Callable[..., Any]:
    """The factory of a ``spec``, from ``factories`` or a file, if it takes the parameters.

    ``noun``: for messages, such as "occupant". Raises :class:`OccupantNameError`.
    """
    kind, parameters = spec.kind, spec.arguments
    if names_file(kind):
        factories = {kind: load_factory(noun, kind, spec.parameters.get(DIGEST))}
    if kind not in factories:
        near = difflib.get_close_matches(kind, factories, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        size = len(factories)
        every = f"known: {', '.join(factories)}" if size <= FEW else f"dond catalogue lists all {size}"
        raise OccupantNameError(f"no {noun} is called {quote(kind)}{hint}; {every}")
    factory = factories[kind]
    allowed = inspect.signature(factory).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in allowed.values())
    unknown = [name for name in parameters if name not in allowed]
    if unknown and not takes_any:
        takes = ", ".join(allowed) or "no parameters"
        raise OccupantNameError(
            f"the {noun} {quote(kind)} does not take {', '.join(map(quote, unknown))}; it takes {takes}"
        )
    needed = [p.name for p in allowed.values() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    missing = [name for name in needed if name not in parameters]
    if missing == ["view"] and names_file(kind):
        raise OccupantNameError(
            f"the {noun} {quote(kind)} is a function of a view: put @one_game above it (from dond_marl import one_game)"
        )
    if missing:
        example = "'FILE'" if missing[0] == "path" else "..."
        raise OccupantNameError(
            f"the {noun} {quote(kind)} needs {', '.join(missing)}, as in {kind}({missing[0]}={example})"
        )
    return factory


def names_file(kind: str) -> bool:
    """Whether a kind names a factory in a file: ``my_file.py:Melting``."""
    match = IN_FILE.fullmatch(kind)
    return match is not None and match["given"] is None


def pin_spec(spec: Spec) -> Spec:
    """``spec`` with the digest of each file of code that it names. Raises :class:`OccupantNameError`."""
    parameters = {name: _pinned_value(value) for name, value in spec.parameters.items()}
    if names_file(spec.kind) and DIGEST not in parameters:
        parameters[DIGEST] = digest_of(_read_code("occupant", spec.kind))
    path = parameters.get("path")
    if spec.kind == PROGRAM and DIGEST not in parameters and isinstance(path, str):
        parameters[DIGEST] = digest_of(read_program(path))
    return Spec(spec.kind, parameters)


def unpin_spec(spec: Spec) -> Spec:
    """``spec`` without the digest of its own file: the display name of a pinned occupant."""
    return Spec(spec.kind, spec.arguments)


def _pinned_value(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_pinned_value(part) for part in value]
    if isinstance(value, Mapping):
        return pin_spec(parse_spec(value)).text if "kind" in value else value
    if not isinstance(value, str) or ".py:" not in value:
        return value
    inside = read_spec(value)
    return value if inside is None else pin_spec(inside).text  # else a path or another text


def _read_code(noun: str, kind: str) -> bytes:
    path = user_path(kind.rpartition(":")[0])
    try:
        return read_bytes(path, MOST_CODE)
    except OSError as error:
        raise OccupantNameError(
            f"the {noun} {quote(kind)}: {error.strerror or error}; paths begin in {Path.cwd()}"
        ) from None


def read_program(path: str) -> bytes:
    """The content of a program of :data:`PROGRAM`. Raises :class:`OccupantNameError`."""
    try:
        return read_bytes(user_path(path), MOST_PROGRAM)
    except OSError as error:
        advice = f"; git clone {CHALLENGE} brings it" if path.startswith(PurePath(CHALLENGE).name) else ""
        raise OccupantNameError(
            f"{quote(path)}: {error.strerror or error}; paths begin in {Path.cwd()}{advice}"
        ) from None


def digest_of(code: bytes) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a file's content: what a pinned spec states."""
    return hashlib.sha256(code).hexdigest()[:16]


def load_factory(noun: str, kind: str, digest: object) -> Callable[..., Any]:
    """The factory in a file. Raises :class:`OccupantNameError`, also where the file does not match ``digest``."""
    code, (path, _, name) = _read_code(noun, kind), kind.rpartition(":")
    now = digest_of(code)
    if digest is not None and digest != now:
        raise OccupantNameError(
            f"{path} has changed since {name} was taken from it (SHA-256 {quote(digest)}, now {now}): bring "
            "the former file back to go on, or begin a new run with this one"
        )
    factory = _run_file(str(user_path(path).resolve()), code).get(name)
    if not callable(factory):
        raise OccupantNameError(f"{path} holds no class or function {name}, which the {noun} {quote(kind)} needs")
    return cast("Callable[..., Any]", factory)


@lru_cache(maxsize=64)
def _run_file(path: str, code: bytes) -> dict[str, Any]:
    """The namespace of a file after running it as a module. Raises :class:`OccupantNameError`."""
    module = ModuleType(f"dond_file_{digest_of(code)}_{PurePath(path).stem}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # dataclasses and pickle look there
    try:
        exec(compile(code, path, "exec"), vars(module))  # noqa: S102  # the user named this file
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        if isinstance(error, ModuleNotFoundError) and (missing := missing_library(error, path)):
            raise missing from error
        raise OccupantNameError(f"{path} cannot be run: {error_line(error)}") from error
    return vars(module)


def _raising(error: Exception) -> Factory:
    """A factory that raises ``error``: the name can be listed, not used."""

    def factory(**_: object) -> Partner:
        raise error

    return factory


def is_plain_name(text: str) -> bool:
    """Whether a text is a name of ASCII letters, digits and underscores, which is parsed as itself.

    Python reads letters of other alphabets as these (a full-width ``llm`` as ``llm``), and ``True`` as a value.
    """
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text)


def _check_parameter_names(parameters: Mapping[str, object]) -> None:
    odd = next((name for name in parameters if not is_plain_name(name)), None)
    if odd is not None:
        raise OccupantNameError(f"a parameter's name has ASCII letters, digits and underscores alone; got {quote(odd)}")


def parse_spec(spec: SpecLike, first: Callable[[str], str | None] | None = None) -> Spec:
    """The :class:`Spec` of a text or mapping, whether or not it exists; a Spec is returned unchanged.

    For the places where names enter. ``first``: the name of the parameter that a text of this kind may begin with
    unnamed, as ``svo(45)``; by default of occupants, ``agent('FILE.js')``. Raises :class:`OccupantNameError`.
    """
    return spec if isinstance(spec, Spec) else Spec(*_parts(spec, first or UNNAMED.get))


def read_spec(text: SpecLike) -> Spec | None:
    """The spec in a record, a results file or a note, where other texts stand too; ``None`` for another text."""
    try:
        return parse_spec(text)
    except OccupantNameError:
        return None


def _parts(spec: SpecLike, first: Callable[[str], str | None] | None = None) -> tuple[str, dict[str, Any]]:
    """The kind and the parameters of a text or mapping. Raises :class:`OccupantNameError`."""
    if isinstance(spec, Mapping):
        parameters = dict(spec)
        kind = parameters.pop("kind", None)
        if not isinstance(kind, str) or not all(isinstance(name, str) for name in parameters):
            raise OccupantNameError(
                f"an occupant given as a mapping needs a text 'kind' and named parameters; got {quote(dict(spec))}"
            )
        if not is_plain_name(kind) and not (names_file(kind) and kind == kind.strip()):
            raise OccupantNameError(f"'kind' is a name, with the parameters next to it; got {quote(kind)}")
        _check_parameter_names(parameters)
        return kind, parameters
    try:
        file = IN_FILE.fullmatch(spec.strip())
        node = ast.parse(file["name"] + (file["given"] or "") if file else spec.strip(), mode="eval").body
        kind, parameters = _call(node, first if file is None else None)
        if not kind.isascii():
            raise ValueError("a letter of another alphabet")
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):  # TypeError: a list as the key of a dict
        raise OccupantNameError(
            f"an occupant is written name or name(parameter=value, ...); got {spec[:100]!r}. "
            "Paths and other texts go in quotes, as in checkpoint(path='FILE.json'); your own is my_file.py:Name; a "
            "run is named by itself, where a user names an occupant (in Python: seat_occupant(NAME, runs=True))"
        ) from None
    if _endless(list(parameters.values())):
        raise OccupantNameError(f"a number is too large to be one in {spec[:100]!r}: give a smaller one")
    _check_parameter_names(parameters)
    return f"{file['file']}:{kind}" if file else kind, parameters


def _spec_text(kind: str, parameters: Mapping[str, Any]) -> str:
    """The text of a spec, which is parsed as this spec and no other. Raises :class:`OccupantNameError`."""
    try:
        texts = {
            name: value if isinstance(value, str) and is_plain_name(value) and value not in YAML_VALUES else repr(value)
            for name, value in sorted(parameters.items())
        }
        inside = ", ".join(f"{name}={value}" for name, value in texts.items())
        text = f"{kind}({inside})" if inside else kind
        if not inside or _parts(text) == (kind, parameters):
            return text
    except (RecursionError, ValueError):  # a value nested too deep, or a number with too many digits
        pass
    raise OccupantNameError(f"{kind} has parameters that cannot be written as text: {quote(parameters)}")


def _call(node: ast.expr, first: Callable[[str], str | None] | None) -> tuple[str, dict[str, Any]]:
    if isinstance(node, ast.Name):
        return node.id, {}
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError("not a call")
    keywords = node.keywords
    if node.args:
        name = first(node.func.id) if first is not None and len(node.args) == 1 else None
        keywords = [ast.keyword(name, node.args[0]), *keywords]
    parameters = {argument.arg: _value(argument.value) for argument in keywords if argument.arg is not None}
    if len(parameters) != len(keywords):
        raise ValueError("an unnamed parameter, **, or a parameter given twice")
    return node.func.id, parameters


def _value(node: ast.expr) -> Any:
    """A literal, list or dict; bare names and nested specs, as in ``best_response(to=heuristic)``, stay text."""
    if isinstance(node, ast.Name | ast.Call):
        text = ast.unparse(node)
        return YAML_VALUES.get(text, text)
    if isinstance(node, ast.Dict) and None not in node.keys:  # None: ``**``
        return {ast.literal_eval(key): _value(value) for key, value in zip(node.keys, node.values, strict=True) if key}
    if isinstance(node, ast.List):
        return [_value(element) for element in node.elts]
    return ast.literal_eval(node)


def _endless(value: object) -> bool:
    """Whether ``value`` is an infinite number, as ``1e999`` is parsed, or a list with one: it has no spelling."""
    if isinstance(value, list | tuple):
        return any(map(_endless, value))
    return isinstance(value, float) and not math.isfinite(value)


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Unique short names for the specs with a path among ``names``; other names are left out.

    ``checkpoint(path='runs/ppo_fast/0001/checkpoints/step_000000202209.json')`` is ``ppo_fast/0001``, and with its
    step where another checkpoint of that run is among ``names``.
    """
    names = dict.fromkeys(names)
    short = {name: label for name in names if (label := _short(name, steps=False)) is not None}
    times = Counter([*short.values(), *(name for name in names if name not in short)])
    longer = {name: _short(name, steps=True) if times[label] > 1 else label for name, label in short.items()}
    times = Counter([*filter(None, longer.values()), *(name for name in names if name not in longer)])
    return {name: label for name, label in longer.items() if label is not None and times[label] == 1}


def _short(name: str, *, steps: bool) -> str | None:
    """The spec with each path shortened, with a checkpoint's step if ``steps``; ``None`` for a spec without paths."""
    spec = read_spec(name)
    if spec is None:  # a free name
        return None
    kind, parameters = spec.kind, dict(spec.parameters)
    path = parameters.pop("path", None)
    inner = {key: _short(value, steps=steps) for key, value in parameters.items() if isinstance(value, str)}
    if not isinstance(path, str) and not any(inner.values()):
        return None
    arguments = ", ".join(
        key if value is True else f"{key}={inner.get(key) or value}" for key, value in parameters.items()
    )
    if not isinstance(path, str):
        return f"{kind}({arguments})"
    shown = _place(path, steps) if kind == "checkpoint" else f"{kind} {_place(path, steps)}"
    return f"{shown} ({arguments})" if arguments else shown


def _place(path: str, steps: bool) -> str:
    """A checkpoint path as ``folder/run``, any other path as ``folder/file`` without its ending."""
    file = PurePath(path)
    if file.parent.name != "checkpoints" or not file.parent.parent.name:
        return "/".join([*file.parent.parts[-1:], file.stem]).replace("//", "/")
    run = "/".join(part for part in file.parent.parent.parts[-2:] if part != "/")
    step = file.stem.removeprefix("step_")
    if not step.isdecimal():  # a member of a league
        return f"{run}:{file.stem}"
    return f"{run} step {int(step):,}" if steps else run
