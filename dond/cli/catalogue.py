"""List all occupants in a line each; by name, with parameters, defaults, traits and source.

All of it comes from docstrings and signatures; no weights are read. Occupants of other packages, registered in the
entry-point group "dond_marl.partners", are listed too.

examples:
  dond catalogue
  dond catalogue boulware llm    # all about these
  dond catalogue llm_judge       # a reward for training.reward
  dond catalogue --json          # for programs
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, get_type_hints

import click
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dond.cli.shell import Command, output_console, print_line
from dond_marl.occupants import Factory, OccupantNameError, catalogue, find_factory
from dond_marl.seats import Traits
from partners.learning.rewards import REWARDS
from partners.rosters import ROSTERS, load_rosters

# The traits of what a function makes by default, where its annotation says only "a partner"; a test checks them.
DECLARED = {
    "checkpoint": Traits(memoryless=True, learned=True),
    "expert": Traits(deterministic=True, memoryless=True, learned=True),
}
TRAITS = {  # words with the trait, and without it
    "deterministic": ("deterministic", "random"),
    "memoryless": ("no memory", "memory"),
    "learned": ("learned", ""),
    "remote": ("remote", ""),
    "human": ("a person", ""),
    "privileged": ("privileged", ""),
    "costly": ("expensive to query", ""),
}


class Entry(NamedTuple):
    """One occupant."""

    name: str
    sentence: str
    source: str
    parameters: dict[str, str | None]  # defaults by name, written as in a spec; None where one must be given
    traits: Traits | None  # None where they depend on the parameters
    module: str
    text: str  # its docstring without the list of parameters
    meanings: dict[str, str]  # its parameters by name: effect and allowed values
    is_reward: bool = False

    @property
    def in_words(self) -> str:
        """Traits in words; a person or a service has only those that it declares."""
        if self.is_reward:
            return "a reward for learning"
        if self.traits is None:
            return "traits depend on its parameters"
        exempt = self.traits.remote or self.traits.human
        has = asdict(self.traits)
        words = [yes if has[name] else "" if exempt else no for name, (yes, no) in TRAITS.items()]
        return ", ".join(filter(None, words))


def entries() -> list[Entry]:
    """All occupants, sorted by name."""
    return [entry_of(name, factory) for name, factory in catalogue().items()]


def entry_of(name: str, factory: Callable[..., Any]) -> Entry:
    """The catalogue entry of an occupant or a reward, from its factory's docstring and signature."""
    text = inspect.getdoc(factory) or ""
    first, _, details = (plain(part) for part in text.partition("\n\n"))
    source = re.search(r"Source: (.*?)(?:\.(?=\s+[A-Z`]|\s*$)|$)", details)
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
    """The descriptions of parameters in the docstrings of a factory and of its base classes."""
    meanings: dict[str, str] = {}
    for owner in reversed(inspect.getmro(factory) if isinstance(factory, type) else (factory,)):
        for part in (inspect.cleandoc(owner.__doc__ or "")).split("\n\n"):
            if part.startswith("- ``"):
                meanings |= {
                    name: plain(text) for name, text in re.findall(r"- ``(\w+)``: (.*?)(?=\n- |\Z)", part, re.S)
                }
    return {name: meanings[name] for name in inspect.signature(factory).parameters if name in meanings}


def plain(text: str) -> str:
    """A docstring's text on one line, in the markup of a terminal: code stands in single backquotes."""
    return " ".join(re.sub(r":\w+:`~?([\w.]+)`", r"`\1`", text).replace("``", "`").split())


@click.command(cls=Command, help=__doc__)
@click.argument(
    "names", nargs=-1, metavar="[NAME]...", help="occupants or rewards to describe in full (all occupants in brief)"
)
@click.option("--json", "as_json", is_flag=True, help="as JSON")
def command(names: tuple[str, ...], as_json: bool) -> None:
    """Print all occupants in brief, or the named ones in full."""
    by_name = {entry.name: entry for entry in entries()}
    rewards = {name: entry_of(name, factory)._replace(is_reward=True) for name, factory in REWARDS.items()}
    described = rewards | by_name
    for name in names:
        if name not in described:
            find_factory(name)  # raises with a suggestion
            raise OccupantNameError(f"{name} is in no catalogue; name one of its entries, without parameters")
    chosen = [described[name] for name in dict.fromkeys(names or by_name)]
    if as_json:
        click.echo(json.dumps([_document(entry) for entry in chosen], indent=2))
        return
    output_console().print(*(full(chosen) if names else overview(chosen)), sep="\n")


def overview(shown: Sequence[Entry]) -> Iterator[RenderableType]:
    """One line an entry, at most 100 columns wide where its sentence has at most 74."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for entry in shown:
        table.add_row(Text(entry.name, "bold"), Text(entry.sentence))
    yield table
    yield Text(
        f"\n{len(shown)} occupants. Parameters go in brackets, boulware(exponent=2), or in YAML {{kind: boulware, "
        "exponent: 2}. All about one: dond catalogue NAME. Your own: docs/TUTORIAL.md."
    )


def full(shown: Sequence[Entry]) -> Iterator[RenderableType]:
    """The whole docstring of each occupant, and every parameter with its default."""
    for number, entry in enumerate(shown):
        if number:
            yield Text()
        yield _heading(entry)
        for paragraph in entry.text.split("\n\n"):
            yield _indent(f"{paragraph}\n")
        table = Table(box=None, pad_edge=False, show_header=False)
        for name, default in entry.parameters.items():
            usage = "required" if default is None else f"default {default}"
            meaning = [Text(entry.meanings.get(name, ""))] if entry.meanings else []
            table.add_row(Text(name, "cyan"), Text(usage), *meaning)
        if entry.parameters:
            yield Padding(table, (0, 0, 1, 2), expand=False)
        yield _indent(f"from {entry.module}", "dim")


def _heading(entry: Entry) -> Text:
    return Text.assemble((entry.name, "bold"), "  ", (entry.in_words, "dim"))


def _indent(text: str, style: str = "") -> Padding:
    return Padding(Text(text, style), (0, 0, 0, 2), expand=False)


def _parameters(factory: Factory) -> dict[str, str | None]:
    return {
        f"**{name}" if parameter.kind is parameter.VAR_KEYWORD else name: (
            None if parameter.default is parameter.empty else repr(parameter.default)
        )
        for name, parameter in inspect.signature(factory).parameters.items()
    }


def _traits(name: str, factory: Factory) -> Traits | None:
    """The traits of the factory's class, or of the class that a factory function is annotated to return."""
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


@click.command(cls=Command)
@click.argument("names", nargs=-1, type=click.Choice(ROSTERS), metavar="[ROSTER]...")
def rosters(names: tuple[str, ...]) -> None:
    """List the rosters of partners: train to learn from, dev and dev2 for tuning, test2 for reported evaluations.

    People wrote those of people_train (to learn from), people_dev (for tuning) and test3 (for one comparison). No
    measured policy has trained with a member of dev2, test2, people_dev or test3. docs/BENCHMARK.md says how similar
    the members are.

    examples:
      dond rosters
      dond rosters test2
    """
    stored = load_rosters()
    for name in names or ROSTERS:
        print_line(f"{name}: {len(stored.members[name])} members, sha256 {stored.hashes[name]}")
        for member in stored.members[name]:
            print_line(f"  {member}")
    print_line(f"drawn from {len(stored.families)} families by the seed {stored.seed}")
