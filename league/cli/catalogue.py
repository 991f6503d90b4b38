"""List all occupants: a sentence, parameters with their defaults, traits and source of each.

All of it comes from docstrings and signatures; no weights are read. Occupants of other packages, registered in the
entry-point group "dond_marl.partners", are listed too.

examples:
  dond catalogue
  dond catalogue boulware llm    # all about these
  dond catalogue --json          # for programs
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, get_type_hints

import click
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dond_marl.occupants import Factory, OccupantNameError, catalogue, check_spec
from dond_marl.seats import Traits
from league.cli.shell import Command, console_for_people

TABLE = 132  # columns from which on a table is easier to read than a list
MANY = 6  # parameters that are listed in brief
# The traits of what a function makes by default, where its annotation says only "a partner"; a test checks them.
DECLARED = {
    "checkpoint": Traits(memoryless=True, learned=True),
    "expert": Traits(deterministic=True, memoryless=True, learned=True),
}
TRAITS = {  # in words: with the trait, and without it
    "deterministic": ("deterministic", "gambles"),
    "memoryless": ("no memory", "remembers"),
    "learned": ("learned", ""),
    "remote": ("remote", ""),
    "human": ("a person", ""),
    "privileged": ("privileged", ""),
    "costly": ("costs something to ask", ""),
}


class Entry(NamedTuple):
    """One occupant."""

    name: str
    sentence: str
    source: str
    parameters: dict[str, str | None]  # defaults by name, written as in a spec; None where one must be given
    traits: Traits | None  # None where they depend on the parameters
    module: str
    text: str  # all that its docstring says, but for what its parameters mean
    meanings: dict[str, str]  # of its parameters, by name: what each does and what it may be

    @property
    def in_words(self) -> str:
        """Its traits; what a person or a service lacks goes unsaid."""
        if self.traits is None:
            return "traits depend on its parameters"
        exempt = self.traits.remote or self.traits.human
        has = asdict(self.traits)
        words = [yes if has[name] else "" if exempt else no for name, (yes, no) in TRAITS.items()]
        return ", ".join(filter(None, words))


def entries() -> list[Entry]:
    """All occupants, sorted by name."""
    return [entry_of(name, factory) for name, factory in catalogue().items()]


def entry_of(name: str, factory: Factory) -> Entry:
    """What an occupant's factory says of it."""
    text = inspect.getdoc(factory) or ""
    first, _, rest = (plain(part) for part in text.partition("\n\n"))
    source = re.search(r"Source: (.*?)(?:\.(?=\s+[A-Z`]|\s*$)|$)", rest)
    return Entry(
        name,
        first,
        source[1] if source else "",
        _parameters(factory),
        _traits(name, factory),
        factory.__module__,
        "\n\n".join(plain(part) for part in text.split("\n\n") if not part.startswith("- ``")),
        _meanings(factory),
    )


def _meanings(factory: Factory) -> dict[str, str]:
    """What the lists in the docstrings of a factory, and of the classes above it, say of its parameters."""
    found: dict[str, str] = {}
    for owner in reversed(inspect.getmro(factory) if isinstance(factory, type) else (factory,)):
        for part in (inspect.cleandoc(owner.__doc__ or "")).split("\n\n"):
            if part.startswith("- ``"):
                found |= {name: plain(text) for name, text in re.findall(r"- ``(\w+)``: (.*?)(?=\n- |\Z)", part, re.S)}
    return {name: found[name] for name in inspect.signature(factory).parameters if name in found}


def plain(text: str) -> str:
    """A docstring's text on one line, in the markup of a terminal: code stands in single backquotes."""
    return " ".join(re.sub(r":\w+:`~?([\w.]+)`", r"`\1`", text).replace("``", "`").split())


@click.command(cls=Command, help=__doc__)
@click.argument("names", nargs=-1, metavar="[NAME]...", help="occupants to describe in full (all in brief)")
@click.option("--json", "as_json", is_flag=True, help="as JSON")
@click.option("--no-color", is_flag=True, help="plain text without colours")
def command(names: tuple[str, ...], as_json: bool, no_color: bool) -> None:
    """Print all occupants in brief, or those named in full."""
    known = {entry.name: entry for entry in entries()}
    for name in names:
        if name not in known:
            check_spec(name)  # says who is near
            raise OccupantNameError(f"{name} is in no catalogue; name one of its entries, without parameters")
    chosen = [known[name] for name in dict.fromkeys(names or known)]
    if as_json:
        click.echo(json.dumps([_document(entry) for entry in chosen], indent=2))
        return
    console = console_for_people()
    console.no_color = console.no_color or no_color
    for part in full(chosen) if names else overview(chosen, console.width):
        console.print(part)


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
        "exponent: 2}. All about one: dond catalogue NAME. Your own: docs/RECIPES.md."
    )


def full(shown: Sequence[Entry]) -> Iterator[RenderableType]:
    """The whole docstring of each occupant, and every parameter with its default."""
    for number, entry in enumerate(shown):
        if number:
            yield Text()
        yield _heading(entry)
        for paragraph in entry.text.split("\n\n"):
            yield _indented(f"{paragraph}\n")
        table = Table(box=None, pad_edge=False, show_header=False)
        for name, default in entry.parameters.items():
            given = "must be given" if default is None else f"default {default}"
            meaning = [Text(entry.meanings.get(name, ""))] if entry.meanings else []
            table.add_row(Text(name, "cyan"), Text(given), *meaning)
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


def _written(parameters: Mapping[str, str | None]) -> str:
    more = len(parameters) - MANY
    words = [f"{name}={'...' if default is None else default}" for name, default in parameters.items()]
    return ", ".join(words[:MANY]) + (f" and {more} more" if more > 0 else "")


def _parameters(factory: Factory) -> dict[str, str | None]:
    return {
        f"**{name}" if parameter.kind is parameter.VAR_KEYWORD else name: (
            None if parameter.default is parameter.empty else repr(parameter.default)
        )
        for name, parameter in inspect.signature(factory).parameters.items()
    }


def _traits(name: str, factory: Factory) -> Traits | None:
    """What the factory's class declares; of a function, the class that its annotation says it returns."""
    occupant: Any = factory if isinstance(factory, type) else get_type_hints(factory).get("return")
    declared = inspect.getattr_static(occupant, "traits", None)
    return declared if isinstance(declared, Traits) else DECLARED.get(name)


def _document(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "sentence": entry.sentence,
        "source": entry.source,
        "traits": None if entry.traits is None else asdict(entry.traits),
        "parameters": [
            {"name": name, "default": default, "meaning": entry.meanings.get(name)}
            for name, default in entry.parameters.items()
        ],
        "module": entry.module,
    }
