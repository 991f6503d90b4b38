"""YAML as plain data with line numbers: safe to read from anybody, and all problems are reported at once.

YAML 1.2's core schema: ``3e-4`` and ``1e-3`` are numbers, ``on``, ``off``, ``yes`` and ``no`` are text, dates are text,
any other tag is refused. Keys are text and may occur once. Size, depth and the number of values, with aliases
expanded, are bounded.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import yaml

from dond_marl.errors import SHOWN, InputError
from dond_marl.errors import quote as quote  # the readers of settings take it from here

Path = tuple[str | int, ...]  # keys and list positions from the top

MAX_BYTES = 1_000_000
MAX_DEPTH = 16  # mappings and lists inside each other; the shipped configs need four
MAX_VALUES = 10_000  # keys and values, with aliases expanded

_TAG = "tag:yaml.org,2002:"
_CORE = tuple(_TAG + name for name in ("str", "int", "float", "bool", "null", "map", "seq"))
_PATTERNS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+0123456789."),
    ),
)


class Problem(NamedTuple):
    """A mistake, and the number (from 1) of its line."""

    line: int
    text: str


class YamlError(InputError):
    """A text that cannot be read as YAML; ``problem`` says where and why."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"line {line}: {text}")
        self.problem = Problem(line, text)


class Source(NamedTuple):
    """The plain ``data`` of a text, the line of every key and list item, and the problems of what was left out."""

    data: Any
    lines: dict[Path, int]
    problems: tuple[Problem, ...]


class _Alias(yaml.Node):
    """A use of a node that is defined elsewhere in the text."""

    id = "alias"

    def __init__(self, target: yaml.Node, event: yaml.Event) -> None:
        super().__init__(target.tag, target, event.start_mark, event.end_mark)  # type: ignore[arg-type]


class _Loader(yaml.SafeLoader):
    """PyYAML's composer under the core schema, bounded in depth and number of nodes. It constructs nothing."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # PyYAML's own way to declare them

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """One node and all below it; PyYAML calls this for every node."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        self._depth += 1
        self._nodes += 1
        if self._depth > MAX_DEPTH + 1:
            raise YamlError(line, f"mappings and lists nested more than {MAX_DEPTH} deep")
        if self._nodes > MAX_VALUES:
            raise YamlError(line, f"more than {MAX_VALUES:,} values")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return _Alias(node, event) if node and isinstance(event, yaml.AliasEvent) else node


class _Dumper(yaml.SafeDumper):
    """Writes what :class:`_Loader` reads back as the same values."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # PyYAML's own way to declare them

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # PyYAML's signature
        return True


for _name, _pattern, _first in _PATTERNS:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(_TAG + _name, re.compile(f"(?:{_pattern})$"), _first)


def read(content: bytes | str) -> Source:
    """The data in a YAML text. Raises :class:`YamlError` where the text cannot be read on."""
    text = _decoded(content) if isinstance(content, bytes) else content
    try:
        node = _Loader(text).get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError(line, f"the character U+{error.character:04X} may not stand in YAML") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(mark.line + 1 if mark else 1, f"not valid YAML: {_reason(error)}") from None
    if node is None:
        return Source(None, {(): 1}, ())
    reader = _Reader()
    data = reader.value(node, ())
    return Source(data, reader.lines, tuple(sorted(reader.problems)))


def write(data: Any) -> str:
    """YAML text of plain data, keys in their order, that :func:`read` reads back as the same data."""
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=120))


def _decoded(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise YamlError(1, f"{len(content):,} bytes are too many for a configuration; at most {MAX_BYTES:,}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise YamlError(line, f"not UTF-8 text: byte 0x{content[error.start]:02x} ({error.reason})") from None


def _reason(error: yaml.MarkedYAMLError) -> str:
    words = " ".join(part for part in (error.context, error.problem) if part)
    if "'\\t'" in words:
        words += " (a tab: indent with spaces)"
    if "single document" in words:
        words = "one document only: remove what begins with '---'"
    return " ".join(words.split())


class _Reader:
    """Turns nodes into plain data and collects lines; what may not be read is left out, with a problem."""

    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self.problems: list[Problem] = []
        self._values = 0
        self._open: set[int] = set()  # the nodes that we are inside of
        self._top = 1  # line of the top-level key that we are under: where an alias is used, not where it points

    def value(self, node: yaml.Node, path: Path) -> Any:
        """The data of ``node`` at ``path``; :data:`LEFT_OUT` where it may not be read."""
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        if isinstance(node, _Alias):
            node = node.value
        self._values += 1
        if self._values > MAX_VALUES:
            raise YamlError(self._top, f"more than {MAX_VALUES:,} values once its aliases are written out")
        if node.tag not in _CORE:
            name = node.tag.removeprefix(_TAG)
            return self._refuse(line, f"the tag {quote('!!' + name if name != node.tag else name)} is not allowed here")
        if id(node) in self._open:
            return self._refuse(line, "a value that contains itself through an alias")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, line)
        if node.tag != _TAG + ("map" if isinstance(node, yaml.MappingNode) else "seq"):
            return self._refuse(line, f"the tag '!!{node.tag.removeprefix(_TAG)}' does not fit its value")
        self._open.add(id(node))
        if isinstance(node, yaml.MappingNode):
            data: Any = self._mapping(node, path)
        else:  # what is left out keeps its place, so that later items keep their lines
            data = [self.value(item, (*path, place)) for place, item in enumerate(node.value)]
        self._open.discard(id(node))
        return data

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not path:
                self._top = line
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != _TAG + "str":
                text = quote(key_node.value) if isinstance(key_node, yaml.ScalarNode) else f"some {key_node.id}"
                self._refuse(line, f"a key must be text; got {text}")
                continue
            key = key_node.value
            here = (*path, key)
            if here in self.lines:
                self._refuse(line, f"{dotted(here)}: given twice, on lines {self.lines[here]} and {line}")
                continue
            self.lines[here] = line
            value = self.value(value_node, here)
            if value is not LEFT_OUT:
                data[key] = value
        return data

    def _scalar(self, node: yaml.ScalarNode, line: int) -> Any:
        kind, text = node.tag.removeprefix(_TAG), node.value
        if kind == "str":
            return text
        pattern = next((pattern for name, pattern, _ in _PATTERNS if name == kind), None)
        if pattern is None or not re.fullmatch(pattern, text):
            return self._refuse(line, f"the tag '!!{kind}' does not fit {quote(text)}")
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        try:
            if kind == "float":
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
            return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
        except ValueError:  # Python reads no integers beyond 4,300 digits
            return self._refuse(line, f"a number too long to read: {quote(text)}")

    def _refuse(self, line: int, text: str) -> Any:
        self.problems.append(Problem(line, text))
        return LEFT_OUT


class _LeftOut:
    """The place of a value that could not be read, for which there is a :class:`Problem`."""

    def __repr__(self) -> str:
        return "(left out)"


LEFT_OUT = _LeftOut()


def dotted(path: Path) -> str:
    """A path in words: ``env.max_turns``, ``members[2].kind``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step if step.isprintable() and 0 < len(step) <= SHOWN else quote(step)
            text += f".{name}" if text else name
    return text or "the whole file"
