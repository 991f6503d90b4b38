"""The rosters, disjoint lists of partners: four in ``rosters.yaml``, drawn by published seeds, and three of people.

Learners train against *train*, called ``zoo`` elsewhere; methods are tuned on *dev* and *dev2*, the second of which no
learner trains with; *test2* has partners that this project's author did not write, and is for reported evaluations,
each of which is logged (:mod:`league.bench.held_out`). *people_train*, *people_dev* and *test3* in ``people.yaml`` are
programs that people wrote for a public contest in this game: to practise with, to choose by, and its finalists, for one
comparison that was written down before. Members are specs as text, written as
:class:`dond_marl.occupants.Spec` writes them, sorted. A roster's hash is the SHA-256 of its members, one per line.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from dond_marl.errors import InputError, quote
from dond_marl.occupants import PROGRAM, Spec, find_factory, names_file, parse_spec


def plain_name(spec: Spec) -> Spec:
    """A spec without parameters at their defaults: ``linear(exponent=1, floor=0.5)`` is ``linear``.

    Code in a file is not run, so its spec stays as it is, as do occupants inside. Raises
    :class:`dond_marl.occupants.OccupantNameError` for an unknown occupant.
    """
    if names_file(spec.kind):
        return spec
    defaults = {name: p.default for name, p in inspect.signature(find_factory(spec)[1]).parameters.items()}
    plain = {name: match_default_type(value, defaults.get(name)) for name, value in spec.parameters.items()}
    return Spec(spec.kind, {name: value for name, value in plain.items() if value != defaults.get(name)})


def match_default_type(value: object, default: object) -> object:
    """``value`` as a fraction where it is a whole number and the default is a fraction."""
    return float(value) if isinstance(default, float) and type(value) is int else value


# Occupants of many families: the parameter with the family's name.
FAMILIES_BY = {"independent": "program", "negmas": "agent", "agent": "path"}


def family_of(spec: Spec) -> str:
    """The family of a partner: its kind, or the name of its program (``independent``) or agent (``negmas``)."""
    return str(spec.parameters.get(FAMILIES_BY.get(spec.kind, ""), spec.kind))


FILE = Path(__file__).with_name("rosters.yaml")
BANK, BANK_FILE = "bank", FILE.with_name("bank.yaml")
PEOPLE_FILE = FILE.with_name("people.yaml")
ROSTERS = ("train", "dev", "dev2", "test2", "people_train", "people_dev", "test3")
TRAIN, DEV, DEV2, TEST2, PEOPLE_TRAIN, PEOPLE_DEV, TEST3 = ROSTERS
OF_PEOPLE = (PEOPLE_TRAIN, PEOPLE_DEV, TEST3)  # programs of the public haggling challenge
PEOPLE_STRONG = "people_strong"  # the third of people_train that came first in the challenge's first round
HELD_OUT = (DEV2, TEST2, PEOPLE_DEV, TEST3)  # no learner trains with their members
LOGGED = (TEST2, TEST3)  # each evaluation against them is logged
ALIASES = {"zoo": TRAIN, "standard": DEV}
LISTS = (*ROSTERS, BANK, PEOPLE_STRONG, *ALIASES)  # names that stand for several occupants
CLONE = Path("challenge_haggling")  # of :data:`dond_marl.occupants.CHALLENGE`, in the working folder
FORMER = "test"  # the name of dev2 in results from before there was test2


class Rosters(NamedTuple):
    """The content of the file of rosters."""

    seed: int  # the published seed that the rosters were drawn from
    families: dict[str, dict[str, tuple[int | float | str, ...]]]  # families of candidates: values by parameter
    roles: dict[str, str]  # of each family: train, dev or dev2 if it is in that roster only, else shared
    members: dict[str, tuple[Spec, ...]]  # by roster, each sorted
    hashes: dict[str, str]  # by roster, as the file states them


def roster(name: str) -> tuple[Spec, ...]:
    """The members of one of :data:`ROSTERS`, sorted specs. Raises :class:`InputError` for others."""
    if name not in ROSTERS:
        raise InputError(f"a roster is one of {', '.join(ROSTERS)}; got {quote(name)}")
    return load_rosters().members[name]


def occupants_named(name: str) -> tuple[Spec, ...]:
    """The occupants that one of :data:`LISTS` stands for. Raises :class:`InputError` for another name."""
    if name == PEOPLE_STRONG:
        return programs_of_people()[name]
    return bank() if name == BANK else roster(ALIASES.get(name, name))


def bank() -> tuple[Spec, ...]:
    """The bank of ``bayes_reply``: programs of the families of the roster train, sorted specs.

    None is a member of dev or dev2 or decides like one.
    """
    import yaml  # imported on use: playing needs no YAML

    return tuple(map(parse_spec, yaml.safe_load(BANK_FILE.read_text(encoding="utf-8"))["members"]))


@lru_cache(maxsize=1)
def programs_of_people() -> dict[str, tuple[Spec, ...]]:
    """The members of the rosters of people and of people_strong: programs in :data:`CLONE`, pinned, sorted."""
    import yaml  # imported on use: playing needs no YAML

    held = yaml.safe_load(PEOPLE_FILE.read_text(encoding="utf-8"))
    held[PEOPLE_STRONG] = {program: held[PEOPLE_TRAIN][program] for program in held[PEOPLE_STRONG]}
    return {
        name: tuple(
            Spec(PROGRAM, {"path": f"{CLONE}/submissions/{program}/solution.js", "sha256": digest})
            for program, digest in sorted(held[name].items())
        )
        for name in (*OF_PEOPLE, PEOPLE_STRONG)
    }


def author_of(spec: Spec) -> str:
    """Who wrote a partner: ``a`` to ``d`` (:mod:`partners.independent`), ``negmas``, ``people``, or ``project``."""
    if spec.kind == "independent":
        return str(spec.parameters["program"])[0]
    return {"negmas": "negmas", PROGRAM: "people"}.get(spec.kind, "project")


def members_hash(members: Iterable[str]) -> str:
    """The SHA-256 of ``members``, sorted, one per line, as 64 hexadecimal digits."""
    return hashlib.sha256("".join(f"{member}\n" for member in sorted(members)).encode()).hexdigest()


@lru_cache(maxsize=1)
def load_rosters() -> Rosters:
    """Read the shipped file of rosters."""
    import yaml  # imported on use: playing needs no YAML

    held = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    drawn = [name for name in ROSTERS if name not in OF_PEOPLE]
    members = {name: tuple(map(parse_spec, held[name]["members"])) for name in drawn} | programs_of_people()
    hashes = {name: str(held[name]["sha256"]) for name in drawn}
    hashes |= {name: members_hash(members[name]) for name in OF_PEOPLE}
    families = {family: _values(row["values"]) for family, row in held["families"].items()}
    roles = {family: str(row["role"]) for family, row in held["families"].items()}
    return Rosters(int(held["seed"]), families, roles, members, hashes)


def _values(parameters: dict[str, list[int | float | str]]) -> dict[str, tuple[int | float | str, ...]]:
    return {name: tuple(values) for name, values in parameters.items()}
