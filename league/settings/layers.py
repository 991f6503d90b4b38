"""Settings as layers of plain data: a YAML file, then ``--set a.b=c`` options, merged key by key.

Each value keeps its origin (file and line, or option) for messages. YAML is PyYAML's, but ``3e-4`` is a number and
``1e6`` an integer; keys are text and occur once in a file, and of two options for one key the later one counts.
``env``, ``league`` and other sections are merged by key; a later layer replaces everything else as a whole. A later
layer that names a scenario source replaces the earlier source and its split (:func:`replace_source`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import yaml

from dond_marl.errors import SHOWN, InputError, quote, suggest
from dond_marl.files import open_regular
from dond_marl.scenarios.sources import DATASETS

Path = tuple[str | int, ...]  # keys and list positions from the top

_TAG = "tag:yaml.org,2002:"
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$")  # also without a point or a sign


class YamlError(InputError):
    """A text that cannot be read as YAML: the ``line`` (from 1) and the reason."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line, self.reason = line, reason


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, with numbers such as ``3e-4``."""


class _Dumper(yaml.SafeDumper):
    """Writes what :class:`_Loader` reads back as the same values."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # PyYAML's signature
        return True


def _number(loader: _Loader, node: yaml.ScalarNode) -> int | float:
    number = loader.construct_yaml_float(node)
    return int(number) if "." not in node.value and number.is_integer() else number  # 1e6 is a count


for _class in (_Loader, _Dumper):
    _class.add_implicit_resolver(_TAG + "float", _FLOAT, list("-+0123456789."))
_Loader.add_constructor(_TAG + "float", _number)


def read_yaml(content: bytes | str) -> tuple[Any, dict[Path, int]]:
    """The plain data of a YAML text, and the line of every key and list item. Raises :class:`YamlError`."""
    lines: dict[Path, int] = {}
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        loader = _Loader(text)
        node = loader.get_single_node()
        return (None if node is None else _value(loader, node, (), lines)), lines or {(): 1}
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
        raise YamlError(1, "mappings and lists are nested too deep, or one holds itself") from None


def write_yaml(data: Any) -> str:
    """YAML text of plain data, keys in their order, that :func:`read_yaml` reads back as the same data."""
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=120))


def _value(loader: _Loader, node: yaml.Node, path: Path, lines: dict[Path, int]) -> Any:
    """The data of ``node``, which stands at ``path``; ``lines`` is filled in. Raises :class:`YamlError`."""
    line = lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, item, (*path, i), lines) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode):
        try:
            return loader.construct_object(node)
        except (ValueError, KeyError, IndexError, AttributeError):  # such as !!int ten
            raise YamlError(line, f"cannot be read as {node.tag.replace(_TAG, '')}: {quote(node.value)}") from None
    data: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != _TAG + "str":
            text = quote(key_node.value) if isinstance(key_node, yaml.ScalarNode) else f"some {key_node.id}"
            raise YamlError(line, f"a key must be text; got {text}")
        key_path = (*path, key_node.value)
        if key_node.value == "<<":
            raise YamlError(line, "merge keys (<<) are not supported: write the keys out, or use an alias (key: *name)")
        if key_node.value in data:
            raise YamlError(line, f"{format_path(key_path)}: given twice, on lines {lines[key_path]} and {line}")
        lines[key_path] = line
        data[key_node.value] = _value(loader, value_node, key_path, lines)
    return data


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


class Origin(NamedTuple):
    """The origin of a value; origins sort in the order of reading: the file from top to bottom, then the options."""

    layer: int
    number: int  # line of a file, position of an option
    label: str  # "configs/league.yaml:3", "--set env.max_turns=6"


class Complaint(NamedTuple):
    """A mistake in the settings, and its origin."""

    origin: Origin
    text: str


@dataclass
class Layer:
    """The settings of one file or one command line, the origin of every key, and the mistakes in reading them."""

    start: Origin  # for values without an origin of their own
    data: dict[str, Any] = field(default_factory=dict)
    origins: dict[Path, Origin] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)

    def origin(self, path: Path) -> Origin:
        """The origin of ``path``, or of the nearest section above it that has one."""
        above = (path[:length] for length in range(len(path), 0, -1))
        return next((self.origins[prefix] for prefix in above if prefix in self.origins), self.start)

    def complain(self, path: Path, text: str, origin: Origin | None = None) -> None:
        """Add a mistake at ``path``; ``origin``: its origin, by default that of the path."""
        words = f"{format_path(path)}: {text}" if path else text
        self.complaints.append(Complaint(origin or self.origin(path), words))


def file_layer(path: str) -> Layer:
    """The settings of a file."""
    try:
        with open_regular(path) as file:
            layer = text_layer(file.read(), path)
        if not layer.data and not layer.complaints:
            layer.complain((), "sets nothing; write a key, or take a shipped file such as configs/league.yaml")
        return layer
    except (OSError, ValueError) as error:
        text = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        if isinstance(error, FileNotFoundError):
            folders = (FilePath(path).parent, presets_folder())
            near = sorted({file.name for folder in folders for file in folder.glob("*.yaml")})
            text = f"no such file{suggest(FilePath(path).name, near)}"
        elif isinstance(error, IsADirectoryError):
            text = "a folder; name a YAML file in it"
        layer = Layer(Origin(0, 0, path))
        layer.complain((), text)
        return layer


def text_layer(content: bytes | str, label: str) -> Layer:
    """The settings of a YAML text, none if it is empty; ``label`` names it in messages."""
    layer = Layer(Origin(0, 1, f"{label}:1"))
    try:
        data, lines = read_yaml(content)
    except YamlError as error:
        layer.complain((), error.reason, Origin(0, error.line, f"{label}:{error.line}"))
        return layer
    layer.origins = {path: Origin(0, line, f"{label}:{line}") for path, line in lines.items()}
    if isinstance(data, dict):
        layer.data = data
    elif data is not None:
        layer.complain((), f"the file must hold keys and values; got {quote(data)}", layer.origins[()])
    return layer


def command_line_layer(overrides: Sequence[str]) -> Layer:
    """The settings of all ``--set a.b=c`` options; a mapping sets each of its keys."""
    layer = Layer(Origin(1, 0, "--set"))
    for number, override in enumerate(overrides, start=1):
        short = override.isprintable() and len(override) <= SHOWN
        origin = Origin(1, number, f"--set {override if short else quote(override)}")
        key, equals, text = override.partition("=")
        keys = tuple(part.strip() for part in key.split("."))
        if not equals or not all(keys):
            layer.complain((), "an option is written --set key.key=value", origin)
            continue
        try:
            leaves = list(_leaves(keys, read_yaml(text)[0]))
        except YamlError as error:
            layer.complain((), error.reason, origin)
            continue
        for path, value in leaves:
            section = layer.data
            for depth, name in enumerate(path[:-1], start=1):
                layer.origins.setdefault(path[:depth], origin)
                if not isinstance(section.get(name), dict):
                    section[name] = {}
                section = section[name]
            layer.origins[path] = origin
            section[path[-1]] = value
    return layer


def _leaves(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves((*path, key), inner)
    else:
        yield path, value


def merge(layers: Iterable[Layer], sections: Sequence[str]) -> Layer:
    """All layers as one, later ones over earlier ones; only ``sections`` are merged by key, empty ones ignored."""
    layers = list(layers)
    merged = Layer(layers[0].start)
    for layer in layers:
        for key, value in layer.data.items():
            if key in sections and not isinstance(value, dict):
                if value is not None:
                    layer.complain((key,), f"a section of keys and values; got {quote(value)}")
                continue
            replaced = {(key, name) for name in value} if key in sections else {(key,)}
            earlier = {path: origin for path, origin in merged.origins.items() if not replaced & {path[:1], path[:2]}}
            later = {path: origin for path, origin in layer.origins.items() if path[:1] == (key,)}
            merged.origins = later | earlier
            if key in sections:
                section = merged.data.get(key, {})
                value = {**(replace_source(section, value) if key == "env" else section), **value}
            merged.data[key] = value
        merged.complaints += layer.complaints
    return merged


def replace_source(env: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """``env`` without the scenario source and the split that a ``later`` layer replaces by naming a source.

    ``use_dataset`` alone keeps a data set that was named, and a source that agrees with it.
    """
    named = later.keys() & {"scenarios", "use_dataset", "dataset"}
    replaced = {"scenarios", "use_dataset", "dataset", "split"} if named else set()
    if named == {"use_dataset"}:
        agrees = (env.get("scenarios") in DATASETS) is later["use_dataset"]
        replaced -= {"scenarios", "dataset"} if agrees else {"dataset"}
    return {key: value for key, value in env.items() if key not in replaced}


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
