"""Settings in layers, the command line over a file, merged key by key; each value keeps the place it comes from.

``env``, ``league`` and ``logging`` are merged by key; everything else a later layer replaces whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dond_marl.errors import SHOWN
from league.settings.scenario_choice import Choice, agreeing, choose, clear
from league.settings.yaml import LEFT_OUT, MAX_BYTES, Path, YamlError, dotted, quote, read


class Place(NamedTuple):
    """Where a value comes from; places sort in the order of reading: the file from top to bottom, then the options."""

    layer: int
    number: int  # line of a file, position of an option
    label: str  # "configs/league.yaml:3", "--set env.max_turns=6"


class Complaint(NamedTuple):
    """A mistake and its place."""

    place: Place
    text: str


@dataclass
class Layer:
    """The settings of one file or one command line, the place of every key, and the mistakes in reading them."""

    start: Place  # for what has no place of its own
    data: dict[str, Any] = field(default_factory=dict)
    places: dict[Path, Place] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)

    def place(self, path: Path) -> Place:
        """The place of ``path``, or of the nearest section above it that has one."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return self.start

    def complain(self, path: Path, text: str) -> None:
        self.complaints.append(Complaint(self.place(path), f"{dotted(path)}: {text}"))


def file_layer(path: str) -> Layer:
    """The settings of a file."""
    start = Place(0, 0, path)
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # the message shows the path as it was given
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        text = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        if isinstance(error, FileNotFoundError):
            text = "no such file"
        elif isinstance(error, IsADirectoryError):
            text = "a folder; name a YAML file in it"
        return Layer(start, complaints=[Complaint(start, text)])
    return text_layer(content, path)


def text_layer(content: bytes | str, label: str) -> Layer:
    """The settings of a YAML text, none if it is empty; ``label`` names it in messages."""

    def at(line: int) -> Place:
        return Place(0, line, f"{label}:{line}")

    layer = Layer(at(1))
    try:
        source = read(content)
    except YamlError as error:
        layer.complaints.append(Complaint(at(error.problem.line), error.problem.text))
        return layer
    layer.places = {path: at(line) for path, line in source.lines.items()}
    layer.complaints = [Complaint(at(problem.line), problem.text) for problem in source.problems]
    if isinstance(source.data, dict):
        layer.data = source.data
    elif source.data is not None and source.data is not LEFT_OUT:
        text = f"the file must hold keys and values; got {quote(source.data)}"
        layer.complaints.append(Complaint(layer.places[()], text))
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
            source = read(value)
        except YamlError as error:
            layer.complaints.append(Complaint(place, error.problem.text))
            continue
        layer.complaints += [Complaint(place, problem.text) for problem in source.problems]
        if source.data is not LEFT_OUT:
            _insert(layer, keys, source.data, place)
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


def _choose_scenarios(layers: list[Layer], merged: Layer) -> None:
    """Make the keys that name the source agree over all layers; complain where a layer contradicts itself."""
    choice = Choice()
    sections = [(layer, layer.data["env"]) for layer in layers if isinstance(layer.data.get("env"), Mapping)]
    if not all(clear(env) for _, env in sections):
        return  # the values are refused one by one
    for layer, env in sections:
        choice, contradiction = choose(choice, env)
        if contradiction is not None:
            place = layer.place(("env", contradiction.key))
            merged.complaints.append(Complaint(place, f"env.{contradiction.key}: {contradiction.text}"))
    merged.data["env"] = agreeing(merged.data.get("env", {}), choice)


def _replace(merged: Layer, layer: Layer, path: Path, value: Any) -> None:
    holder: Any = merged.data if len(path) == 1 else merged.data[str(path[0])]
    holder[path[-1]] = value
    for old in [old for old in merged.places if old[: len(path)] == path]:
        del merged.places[old]
    merged.places[path] = layer.place(path)
    merged.places.update({new: place for new, place in layer.places.items() if new[: len(path)] == path})


def _insert(layer: Layer, keys: tuple[str, ...], value: Any, place: Place) -> None:
    holder = layer.data
    for depth, key in enumerate(keys[:-1], start=1):
        layer.places.setdefault(keys[:depth], place)
        inner = holder.setdefault(key, {})
        if not isinstance(inner, dict):
            earlier = layer.place(keys[:depth]).label
            layer.complaints.append(Complaint(place, f"{dotted(keys[:depth])}: given twice, before by {earlier}"))
            return
        holder = inner
    last = keys[-1]
    if isinstance(value, dict) and isinstance(holder.get(last, {}), dict):
        layer.places.setdefault(keys, place)
        holder.setdefault(last, {})
        for name, inner in value.items():
            _insert(layer, (*keys, name), inner, place)
    elif last in holder:
        layer.complaints.append(Complaint(place, f"{dotted(keys)}: given twice, before by {layer.place(keys).label}"))
    else:
        holder[last] = value
        layer.places[keys] = place
