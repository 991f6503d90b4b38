"""What ``scripts/catalogue.py`` shows: every occupant with its sentence, parameters, traits and source.

Nobody is made and no weights are read: a factory's docstring and signature say it all. Third-party occupants, entered
through the group ``dond_marl.partners``, are listed as the built-in ones are.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any, NamedTuple, get_type_hints

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dond_marl.occupants import Factory, OccupantNameError, catalogue, check_spec
from dond_marl.seats import Traits
from league.display.league import console_for_people

USAGE_ERROR = 2
TABLE = 132  # columns from which on a table is easier to read than a list
MANY = 6  # parameters: more are told where one occupant is asked for
# Functions that say only "a partner": the same as of whom they make by default, which a test checks.
DECLARED = {
    "checkpoint": Traits(memoryless=True, learned=True),
    "expert": Traits(deterministic=True, memoryless=True, learned=True),
}
TRAITS = {  # in words, and what is worth saying of whom has it not
    "deterministic": ("deterministic", "gambles"),
    "memoryless": ("no memory", "remembers"),
    "learned": ("learned", ""),
    "remote": ("remote", ""),
    "human": ("a person", ""),
    "privileged": ("privileged", ""),
}


class Parameter(NamedTuple):
    """One parameter of an occupant; ``default`` is written as in a spec, ``None`` where one must be given."""

    name: str
    default: str | None

    def __str__(self) -> str:
        return f"{self.name}=..." if self.default is None else f"{self.name}={self.default}"


class Entry(NamedTuple):
    """One occupant."""

    name: str
    sentence: str
    source: str
    parameters: tuple[Parameter, ...]
    traits: Traits | None  # None where they depend on the parameters
    module: str
    text: str  # all that its docstring says

    @property
    def in_words(self) -> str:
        """Its traits; a person or a service is exempt from most of them."""
        if self.traits is None:
            return "traits depend on its parameters"
        exempt = self.traits.remote or self.traits.human
        had = asdict(self.traits)
        words = [yes if had[name] else "" if exempt else no for name, (yes, no) in TRAITS.items()]
        return ", ".join(filter(None, words))


def entries() -> list[Entry]:
    """Every occupant, sorted by name."""
    return [entry_of(name, factory) for name, factory in catalogue().items()]


def entry_of(name: str, factory: Factory) -> Entry:
    """What is known of one occupant without making it."""
    text = inspect.getdoc(factory) or ""
    first, _, rest = (plain(part) for part in text.partition("\n\n"))
    source = re.search(r"Source: (.*?)(?:\.(?=\s+[A-Z`]|\s*$)|$)", rest)
    return Entry(
        name,
        first,
        source[1] if source else "",
        tuple(_parameters(factory)),
        _traits(name, factory),
        factory.__module__,
        "\n\n".join(plain(part) for part in text.split("\n\n")),
    )


def plain(text: str) -> str:
    """A docstring's text on one line, in the markup of a terminal: code stands in single backquotes."""
    return " ".join(re.sub(r":\w+:`~?([\w.]+)`", r"`\1`", text).replace("``", "`").split())


def main(names: Sequence[str], as_json: bool, no_color: bool) -> int:
    """Print all occupants, or those asked for in full; the exit code is 0, or 2 for a name that nobody has."""
    try:
        known = {entry.name: entry for entry in entries()}
        for name in names:
            if name not in known:
                check_spec(name)  # says who is near
        chosen = [known[name] for name in dict.fromkeys(names or known)]
    except OccupantNameError as error:
        print(error, file=sys.stderr)  # the command talks to a person
        return USAGE_ERROR
    if as_json:
        print(json.dumps([_document(entry) for entry in chosen], indent=2))  # likewise
        return 0
    console = console_for_people()
    console.no_color = console.no_color or no_color
    for part in full(chosen) if names else overview(chosen, console.width):
        console.print(part)
    return 0


def overview(shown: Sequence[Entry], width: int) -> Iterator[RenderableType]:
    """All at a glance: a table where there is room, otherwise a list."""
    if width >= TABLE:
        yield _table(shown)
    else:
        for entry in shown:
            yield _heading(entry)
            yield _indented(entry.sentence)
            if entry.parameters:
                yield _indented(_written(entry.parameters), "cyan")
            yield _indented(entry.source, "dim")
    yield Text(
        f"\n{len(shown)} occupants. Parameters go in brackets, boulware(exponent=2), or in YAML {{kind: boulware, "
        "exponent: 2}. All about one: python scripts/catalogue.py NAME. Your own: CONTRIBUTING.md."
    )


def full(shown: Sequence[Entry]) -> Iterator[RenderableType]:
    """Each in full."""
    for number, entry in enumerate(shown):
        if number:
            yield Text()
        yield _heading(entry)
        for paragraph in entry.text.split("\n\n"):
            yield _indented(f"{paragraph}\n")
        table = Table(box=None, pad_edge=False, show_header=False)
        for parameter in entry.parameters:
            must = parameter.default is None
            table.add_row(
                Text(parameter.name, "cyan"), Text("must be given" if must else f"default {parameter.default}")
            )
        if entry.parameters:
            yield Padding(table, (0, 0, 1, 2), expand=False)
        yield _indented(f"from {entry.module}", "dim")


def _table(shown: Sequence[Entry]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0), expand=True)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("in a sentence", ratio=6, overflow="fold")
    table.add_column("parameters", style="cyan", ratio=4, overflow="fold")
    table.add_column("traits", ratio=3, overflow="fold")
    table.add_column("source", style="dim", ratio=6, overflow="fold")
    for entry in shown:
        cells = (entry.sentence, _written(entry.parameters), entry.in_words, entry.source)
        table.add_row(Text(entry.name), *map(Text, cells))
    return table


def _heading(entry: Entry) -> Text:
    return Text.assemble((entry.name, "bold"), "  ", (entry.in_words, "dim"))


def _indented(text: str, style: str = "") -> Padding:
    return Padding(Text(text, style), (0, 0, 0, 2), expand=False)


def _written(parameters: Sequence[Parameter]) -> str:
    more = len(parameters) - MANY
    return ", ".join(map(str, parameters[:MANY])) + (f" and {more} more" if more > 0 else "")


def _parameters(factory: Factory) -> Iterator[Parameter]:
    for parameter in inspect.signature(factory).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            yield Parameter(f"**{parameter.name}", None)
        else:
            yield Parameter(parameter.name, None if parameter.default is parameter.empty else repr(parameter.default))


def _traits(name: str, factory: Factory) -> Traits | None:
    """As the class declares them, which is the factory or whom it says that it returns."""
    made: Any = factory if isinstance(factory, type) else get_type_hints(factory).get("return")
    declared = inspect.getattr_static(made, "traits", DECLARED.get(name))
    return declared if isinstance(declared, Traits) else DECLARED.get(name)


def _document(entry: Entry) -> dict[str, Any]:
    traits = entry.traits
    return {
        "name": entry.name,
        "sentence": entry.sentence,
        "source": entry.source,
        "traits": None if traits is None else {field.name: getattr(traits, field.name) for field in fields(traits)},
        "parameters": [parameter._asdict() for parameter in entry.parameters],
        "module": entry.module,
    }
