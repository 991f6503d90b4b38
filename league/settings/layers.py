"""Settings as layers of plain data: a YAML file, then ``--set a.b=c`` options, merged key by key.

Each value keeps its place (file and line, or option) for messages. YAML follows the 1.2 core schema: ``3e-4`` is a
number, but ``1e6`` and ``1_000`` are integers; ``on``, ``off``, ``yes``, ``no`` and dates are text; keys are text and
occur once; other tags are refused.
``env``, ``league`` and other sections are merged by key; a later layer replaces everything else as a whole.

``scenarios``, ``use_dataset``, ``dataset`` and ``split`` name the scenario source together; ``use_dataset: true`` is
another way to write ``scenarios: <dataset>``. Within one layer they must not contradict each other; a later layer that
names a source replaces the earlier source and its split.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import yaml

from dond_marl.errors import SHOWN, InputError, quote
from dond_marl.files import open_regular
from dond_marl.scenarios.sources import DATASETS, SOURCES, ScenarioError, check_split

Path = tuple[str | int, ...]  # keys and list positions from the top

MAX_BYTES = 1_000_000
MAX_DEPTH = 16  # mappings and lists inside each other; the shipped configs need four
MAX_VALUES = 10_000  # keys and values, with aliases expanded

_TAG = "tag:yaml.org,2002:"
_RESOLVERS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+(_[0-9]+)*|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+0123456789."),
    ),
)


class YamlError(InputError):
    """A text that cannot be read as YAML: the ``line`` (from 1) and the reason."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line, self.reason = line, reason


class _Loader(yaml.SafeLoader):
    """PyYAML's composer under the core schema. It constructs nothing."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # PyYAML's own way to declare them


class _Dumper(yaml.SafeDumper):
    """Writes what :class:`_Loader` reads back as the same values."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # PyYAML's own way to declare them

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # PyYAML's signature
        return True


for _name, _pattern, _first in _RESOLVERS:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(_TAG + _name, re.compile(f"(?:{_pattern})$"), _first)


def read_yaml(content: bytes | str) -> tuple[Any, dict[Path, int]]:
    """The plain data of a YAML text, and the line of every key and list item. Raises :class:`YamlError`."""
    if len(content) > MAX_BYTES:
        raise YamlError(1, f"{len(content):,} bytes are too many for a configuration; at most {MAX_BYTES:,}")
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        node = yaml.compose(text, Loader=_Loader)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise YamlError(line, f"not UTF-8 text: byte 0x{error.object[error.start]:02x} ({error.reason})") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError(line, f"the character U+{error.character:04X} may not stand in YAML") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(" ".join(part for part in (error.context, error.problem) if part).split())
        hint = " (a tab: indent with spaces)" if "'\\t'" in reason else ""
        raise YamlError(mark.line + 1 if mark else 1, f"not valid YAML: {reason}{hint}") from None
    except RecursionError:
        raise YamlError(1, f"mappings and lists nested more than {MAX_DEPTH} deep") from None
    lines: dict[Path, int] = {}
    return (None if node is None else _value(node, (), lines)), lines or {(): 1}


def write_yaml(data: Any) -> str:
    """YAML text of plain data, keys in their order, that :func:`read_yaml` reads back as the same data."""
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=120))


def _value(node: yaml.Node, path: Path, lines: dict[Path, int]) -> Any:
    """The data of ``node``, which stands at ``path``; ``lines`` is filled in. Raises :class:`YamlError`."""
    line = lines.setdefault(path, node.start_mark.line + 1)
    if len(path) > MAX_DEPTH:  # an alias inside of its own value ends here too
        raise YamlError(line, f"mappings and lists nested more than {MAX_DEPTH} deep")
    if len(lines) > MAX_VALUES:
        raise YamlError(line, f"more than {MAX_VALUES:,} values, with aliases written out")
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, line)
    if node.tag not in (_TAG + "map", _TAG + "seq"):
        raise YamlError(line, f"the tag {quote(node.tag.replace(_TAG, '!!'))} is not allowed here")
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, place), lines) for place, item in enumerate(node.value)]
    data: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != _TAG + "str":
            text = quote(key_node.value) if isinstance(key_node, yaml.ScalarNode) else f"some {key_node.id}"
            raise YamlError(line, f"a key must be text; got {text}")
        here = (*path, key_node.value)
        if key_node.value == "<<":
            raise YamlError(line, "merge keys (<<) are not supported: write the keys out, or use an alias (key: *name)")
        if key_node.value in data:
            raise YamlError(line, f"{format_path(here)}: given twice, on lines {lines[here]} and {line}")
        lines[here] = line
        data[key_node.value] = _value(value_node, here, lines)
    return data


def _scalar(node: yaml.ScalarNode, line: int) -> Any:
    kind, text = node.tag.removeprefix(_TAG), node.value
    if kind == "str":
        return text
    if not any(kind == name and re.fullmatch(pattern, text) for name, pattern, _ in _RESOLVERS):
        raise YamlError(line, f"the tag {quote(node.tag.replace(_TAG, '!!'))} does not fit {quote(text)}")
    if kind in ("null", "bool"):
        return None if kind == "null" else text.lower() == "true"
    if kind == "float":
        number = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        return int(number) if "." not in text and number.is_integer() else number  # 1e6 is a count
    try:
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    except ValueError:  # Python reads no integers beyond 4,300 digits
        raise YamlError(line, f"a number too long to read: {quote(text)}") from None


def suggest(value: object, choices: Iterable[str]) -> str:
    """The choice that is spelled most like a text, as a question; empty without any."""
    text = value if isinstance(value, str) and len(value) < 100 else ""
    matches = difflib.get_close_matches(text, list(choices), n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def format_path(path: Path) -> str:
    """A path as text: ``env.max_turns``, ``members[2].kind``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step if step.isprintable() and 0 < len(step) <= SHOWN else quote(step)
            text += f".{name}" if text else name
    return text or "the whole file"


class Place(NamedTuple):
    """The origin of a value; places sort in the order of reading: the file from top to bottom, then the options."""

    layer: int
    number: int  # line of a file, position of an option
    label: str  # "configs/league.yaml:3", "--set env.max_turns=6"


class Complaint(NamedTuple):
    """A mistake in the settings, and its place."""

    place: Place
    text: str


@dataclass
class Layer:
    """The settings of one file or one command line, the place of every key, and the mistakes in reading them."""

    start: Place  # for values without a place of their own
    data: dict[str, Any] = field(default_factory=dict)
    places: dict[Path, Place] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)

    def place(self, path: Path) -> Place:
        """The place of ``path``, or of the nearest section above it that has one."""
        above = (path[:length] for length in range(len(path), 0, -1))
        return next((self.places[each] for each in above if each in self.places), self.start)

    def complain(self, path: Path, text: str) -> None:
        self.complaints.append(Complaint(self.place(path), f"{format_path(path)}: {text}"))


def file_layer(path: str) -> Layer:
    """The settings of a file."""
    try:
        with open_regular(path) as file:
            layer = text_layer(file.read(MAX_BYTES + 1), path)
        if not layer.data and not layer.complaints:
            layer.complain((), "sets nothing; write a key, or take a shipped file such as configs/league.yaml")
        return layer
    except (OSError, ValueError) as error:
        text = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        if isinstance(error, FileNotFoundError):
            folders = (FilePath(path).parent, presets_folder())
            near = sorted({found.name for folder in folders for found in folder.glob("*.yaml")})
            text = f"no such file{suggest(FilePath(path).name, near)}"
        elif isinstance(error, IsADirectoryError):
            text = "a folder; name a YAML file in it"
        start = Place(0, 0, path)
        return Layer(start, complaints=[Complaint(start, text)])


def text_layer(content: bytes | str, label: str) -> Layer:
    """The settings of a YAML text, none if it is empty; ``label`` names it in messages."""

    def place_of(line: int) -> Place:
        return Place(0, line, f"{label}:{line}")

    layer = Layer(place_of(1))
    try:
        data, lines = read_yaml(content)
    except YamlError as error:
        layer.complaints.append(Complaint(place_of(error.line), error.reason))
        return layer
    layer.places = {path: place_of(line) for path, line in lines.items()}
    if isinstance(data, dict):
        layer.data = data
    elif data is not None:
        layer.complaints.append(
            Complaint(place_of(lines[()]), f"the file must hold keys and values; got {quote(data)}")
        )
    return layer


def command_line_layer(overrides: Sequence[str]) -> Layer:
    """The settings of all ``--set a.b=c`` options; a key may occur once."""
    layer = Layer(Place(1, 0, "--set"))
    for number, override in enumerate(overrides, start=1):
        short = override.isprintable() and len(override) <= SHOWN
        place = Place(1, number, f"--set {override if short else quote(override)}")
        key, equals, value = override.partition("=")
        keys = tuple(part.strip() for part in key.split("."))
        if not equals or not all(keys):
            layer.complaints.append(Complaint(place, "an option is written --set key.key=value"))
            continue
        try:
            _insert(layer, keys, read_yaml(value)[0], place)
        except YamlError as error:
            layer.complaints.append(Complaint(place, error.reason))
    return layer


def merge(layers: Iterable[Layer], sections: Sequence[str]) -> Layer:
    """All layers as one, later ones over earlier ones; only ``sections`` are merged by key, empty ones ignored.

    With a section ``env``, the keys that name the scenario source agree in the end.
    """
    layers = list(layers)
    merged = Layer(layers[0].start)
    for layer in layers:
        for key, value in layer.data.items():
            if key not in sections:
                _replace(merged, layer, (key,), value)
            elif isinstance(value, dict):
                merged.places.setdefault((key,), layer.place((key,)))
                merged.data.setdefault(key, {})
                for name, inner in value.items():
                    _replace(merged, layer, (key, name), inner)
            elif value is not None:
                layer.complain((key,), f"a section of keys and values; got {quote(value)}")
        merged.complaints += layer.complaints
    if "env" in sections:
        _choose_scenarios(layers, merged)
    return merged


NAMING = ("scenarios", "use_dataset", "dataset")  # keys that name a source
DEFAULT_SOURCE = "uniform"
DEFAULT_DATASET = "self_play"


class ContradictionError(InputError):
    """Keys of one layer contradict each other; ``key`` is the one to change."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key


class ScenarioChoice(NamedTuple):
    """A source, its split (``None``: its default), and the data set that ``use_dataset: true`` would select."""

    source: str = DEFAULT_SOURCE
    split: str | None = None
    dataset: str = DEFAULT_DATASET

    def override(self, env: Mapping[str, Any]) -> ScenarioChoice:
        """The choice after a layer ``env``, whose values are :func:`valid`. Raises :class:`ContradictionError`."""
        use, dataset, scenarios = (env.get(key) for key in ("use_dataset", "dataset", "scenarios"))
        if use:
            source, text = dataset or self.dataset, "use_dataset: true with dataset: {0} contradicts scenarios: {1}"
        elif use is False:  # a data set that is named here is not in use
            before = DEFAULT_SOURCE if self.source in DATASETS else self.source
            source = scenarios if scenarios not in (None, *DATASETS) else before
            text = "use_dataset: false contradicts scenarios: {1}"
        else:
            source, text = dataset or scenarios or self.source, "dataset: {0} contradicts scenarios: {1}"
        if scenarios not in (None, source):
            raise ContradictionError("scenarios", f"{text.format(source, scenarios)}; give one of the two")
        split = env.get("split", None if env.keys() & set(NAMING) else self.split)
        try:
            check_split(source, split)
        except ScenarioError as error:
            raise ContradictionError("split", str(error)) from None
        return ScenarioChoice(source, split, source if source in DATASETS else dataset or self.dataset)

    def settings(self) -> dict[str, Any]:
        """The four keys of ``env``, in agreement."""
        use = self.source in DATASETS
        return {
            "scenarios": self.source,
            "use_dataset": use,
            "dataset": self.source if use else DEFAULT_DATASET,
            "split": check_split(self.source, self.split),
        }


def valid(env: Mapping[str, Any]) -> bool:
    """Whether each of the four keys in ``env`` has a value of its type; only then can they be interpreted."""
    return (
        isinstance(env.get("split", ""), str | None)
        and isinstance(env.get("use_dataset", False), bool)
        and env.get("scenarios", DEFAULT_SOURCE) in SOURCES
        and env.get("dataset", DEFAULT_DATASET) in DATASETS
    )


def _choose_scenarios(layers: list[Layer], merged: Layer) -> None:
    """Make the keys that name the source agree over all layers; complain if a layer contradicts itself."""
    choice = ScenarioChoice()
    sections = [(layer, layer.data["env"]) for layer in layers if isinstance(layer.data.get("env"), Mapping)]
    if not all(valid(env) for _, env in sections):
        return  # the values are refused one by one
    for layer, env in sections:
        try:
            choice = choice.override(env)
        except ContradictionError as error:
            merged.complaints.append(Complaint(layer.place(("env", error.key)), f"env.{error.key}: {error}"))
    merged.data["env"] = {**merged.data.get("env", {}), **choice.settings()}


def _replace(merged: Layer, layer: Layer, path: Path, value: Any) -> None:
    """Put the value at ``path`` of a layer into the merged one, with the places of everything in it."""
    holder: Any = merged.data if len(path) == 1 else merged.data[str(path[0])]
    holder[path[-1]] = value
    below = [old for old in merged.places if old[: len(path)] == path]
    for old in below:
        del merged.places[old]
    merged.places[path] = layer.place(path)
    merged.places.update({new: place for new, place in layer.places.items() if new[: len(path)] == path})


def _insert(layer: Layer, keys: tuple[str, ...], value: Any, place: Place) -> None:
    """Put the value of an option under its keys; a mapping is merged into one that other options have given."""
    holder: Any = layer.data
    for depth, key in enumerate(keys, start=1):
        if not isinstance(holder, dict):
            earlier = layer.place(keys[: depth - 1]).label
            layer.complaints.append(
                Complaint(place, f"{format_path(keys[: depth - 1])}: given twice, before by {earlier}")
            )
            return
        layer.places.setdefault(keys[:depth], place)
        if depth < len(keys):
            holder = holder.setdefault(key, {})
    last = keys[-1]
    if isinstance(value, dict) and isinstance(holder.get(last, {}), dict):
        holder.setdefault(last, {})
        for name, inner in value.items():
            _insert(layer, (*keys, name), inner, place)
    elif last in holder:
        layer.complaints.append(
            Complaint(place, f"{format_path(keys)}: given twice, before by {layer.place(keys).label}")
        )
    else:
        holder[last] = value


def presets_folder() -> FilePath:
    """The folder of the shipped configs: ``configs/`` of a checkout, or its copy in an installed wheel."""
    installed = FilePath(str(resources.files("league.settings") / "presets"))
    return installed if installed.is_dir() else FilePath(__file__).parents[2] / "configs"


def preset(path: FilePath) -> FilePath:
    """The file that ``path`` means: itself if it exists, else the shipped config that it names.

    A shipped config is named by ``league.yaml`` or ``configs/league.yaml``; any other path is returned as it is.
    """
    shipped = presets_folder() / path.name
    named = path.parent in (FilePath(), FilePath("configs"))
    return shipped if named and not path.exists() and shipped.is_file() else path
