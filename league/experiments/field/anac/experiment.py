"""Every negotiator that loads against everybody of ours, cell by cell; what is done is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dond_marl import __version__
from dond_marl.envs.negmas.occupant import NegMASPartner
from dond_marl.envs.negmas.process import Worker, worker_of
from dond_marl.errors import InputError
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Partner
from dond_marl.yardsticks.metrics import Estimate, mean_over_scenarios, scenario_groups
from league.experiments.field.anac.cells import (
    DIGITS,
    SOURCE,
    SPLIT,
    Cell,
    as_document,
    cell,
    from_document,
    play,
    sample,
)
from league.experiments.field.anac.settings import AnacConfig
from league.experiments.kept import place, read, write
from league.ledger.origin import commit
from league.tasks.values import machine
from partners.provenance import identity

CONFIDENCE = 0.95
YEAR = re.compile(r"\by(?P<year>20\d\d)\b|anl(?P<anl>20\d\d)")


class Experiment(NamedTuple):
    """What was found."""

    config: AnacConfig
    ours: tuple[str, ...]
    identities: dict[str, str]  # of ours: what exactly each is
    cells: list[Cell]  # of the agents, and of ours against ours
    years: dict[str, str]  # of each agent: the year of its competition, or its package
    versions: dict[str, str]
    refused: dict[str, str]  # agents that did not load, and why
    day: str
    scenarios: Scenarios


def perform(
    config: AnacConfig, python: str | None, more: Mapping[str, tuple[Partner, str]], report: Callable[[str], None]
) -> Experiment:
    """Play every cell that is not kept in ``output_dir``. ``more``: partners by name, with what identifies them.

    Raises :class:`InputError` where nobody loads.
    """
    worker = worker_of(python)
    modules = _agents(config, worker)
    ours: dict[str, tuple[Partner, str]] = {spec: (seat_occupant(spec), identity(spec)) for spec in config.ours}
    ours.update(more)
    scenarios = sample(config.scenarios, config.seed)
    folder = Path(config.output_dir).expanduser() / "cells"
    cells = _between_ours(config, ours, scenarios)
    versions: dict[str, str] = {}
    refused: dict[str, str] = {}
    for number, path in enumerate(modules, start=1):
        mine = scenarios.rows(np.arange(config.fewer.get(path, config.scenarios)))
        places = {
            (name, seat): place(folder, _what(config, path, what, seat, mine.size))
            for name, (_, what) in ours.items()
            for seat in (0, 1)
        }
        kept = {key: read(where) for key, where in places.items()}
        agent: NegMASPartner | None = None
        for key, document in kept.items():
            if document is None and agent is None:
                try:
                    agent = NegMASPartner(path, python=python, limit=config.limit)
                except InputError as error:
                    refused[path] = str(error)
                    break
            if document is None:
                assert agent is not None
                found = _played(agent, path, key[0], ours[key[0]][0], key[1], mine, config, worker)
                document = kept[key] = {"cell": as_document(found), "versions": agent.versions}
                write(places[key], document)
        if path in refused:
            report(f"{number}/{len(modules)} {refused[path]}")
            continue
        own = [from_document(document["cell"]) for document in kept.values() if document is not None]
        for document in kept.values():
            versions.update(document["versions"] if document is not None else {})
        cells += own
        forfeits = sum(sum(each.forfeits.values()) for each in own)
        report(
            f"{number}/{len(modules)} {path}: {np.mean([np.mean(each.points) for each in own]):.2f} points, ours "
            f"{np.mean([np.mean(each.our_points) for each in own]):.2f}, {np.mean([each.cpu_ms for each in own]):.1f} "
            f"CPU ms a game" + (f", {forfeits} forfeits" if forfeits else "")
        )
    if len(refused) == len(modules):
        raise InputError(f"none of {len(modules)} agents loads; {next(iter(refused.values()), '')}")
    years = {path: _year(path, module) for path, module in modules.items() if path not in refused}
    identities = {name: what for name, (_, what) in ours.items()}
    day = date.today().isoformat()
    return Experiment(config, tuple(ours), identities, cells, years, versions, refused, day, scenarios)


def _agents(config: AnacConfig, worker: Worker) -> dict[str, str]:
    modules = {path: module for package in config.packages for path, module in worker.agents(package).items()}
    modules.update({path: path.rpartition(".")[0] for path in config.agents})
    unknown = [path for path in (*config.leave_out, *config.fewer) if path not in modules]
    if unknown:
        raise InputError(f"leave_out and fewer name {', '.join(unknown)}, which is none of the {len(modules)} agents")
    return {path: module for path, module in modules.items() if path not in config.leave_out}


def _what(config: AnacConfig, path: str, ours: str, seat: int, size: int) -> dict[str, Any]:
    same = {"seed": config.seed, "of": config.scenarios, "max_turns": config.max_turns, "limit": config.limit}
    return {"agent": path, "ours": ours, "seat": seat, "scenarios": size, **same}


def _played(
    agent: NegMASPartner,
    path: str,
    name: str,
    partner: Partner,
    seat: int,
    scenarios: Scenarios,
    config: AnacConfig,
    worker: Worker,
) -> Cell:
    before, cpu = agent.forfeits.copy(), worker.cpu_seconds()
    games = play(agent, partner, seat, scenarios, config.max_turns, config.seed)
    spent = max(worker.cpu_seconds() - cpu, 0.0) * 1000 / games.size
    return cell(path, name, seat, games, dict(agent.forfeits - before), spent)


def _between_ours(config: AnacConfig, ours: Mapping[str, tuple[Partner, str]], scenarios: Scenarios) -> list[Cell]:
    return [
        cell(
            one, other, seat, play(ours[one][0], ours[other][0], seat, scenarios, config.max_turns, config.seed), {}, 0
        )
        for one in ours
        for other in ours
        for seat in (0, 1)
    ]


def _year(path: str, module: str) -> str:
    found = YEAR.search(module)
    return (found["year"] or found["anl"]) if found else path.partition(".")[0]


def estimate(cells: list[Cell], scenarios: Scenarios, *, of_ours: bool = False) -> Estimate:
    """The mean of points over cells of the same scenarios, each cell counting as much, with its interval over them."""
    size = min(each.size for each in cells)
    values = np.array([(each.our_points if of_ours else each.points)[:size] for each in cells], dtype=np.float64)
    groups = scenario_groups(scenarios.rows(np.arange(size)))
    return mean_over_scenarios(values, groups, CONFIDENCE)


def lines(experiment: Experiment) -> str:
    """The results file: what was played, then a line for each cell, then one for each player against all of ours."""
    config = experiment.config
    first = {
        "kind": "anac",
        "day": experiment.day,
        "versions": dict(sorted(experiment.versions.items())),
        "code": {"version": __version__, **commit(), **json.loads(machine())},
        "ours": experiment.identities,
        "scenarios": f"{config.scenarios} of {SOURCE}, split {SPLIT}, drawn with seed {config.seed}",
        "max_turns": config.max_turns,
        "limit": config.limit,
        "confidence": CONFIDENCE,
        "refused": experiment.refused,
    }
    rows = [first, *(_row(each, experiment) for each in experiment.cells)]
    for player in dict.fromkeys(each.player for each in experiment.cells):
        own = [each for each in experiment.cells if each.player == player]
        rows.append({"kind": "player", "who": player, "n": sum(c.size for c in own), **_points(own, experiment)})
    for name in experiment.ours:
        own = [each for each in experiment.cells if each.ours == name and each.player in experiment.years]
        own = [each for each in own if each.size == config.scenarios]
        for seat, some in ((None, own), *((seat, [each for each in own if each.seat == 1 - seat]) for seat in (0, 1))):
            if some:
                n = sum(each.size for each in some)
                rows.append({"kind": "field", "who": name, "seat": seat, "n": n, **_points(some, experiment)})
    return "".join(json.dumps(row) + "\n" for row in rows)


def _row(found: Cell, experiment: Experiment) -> dict[str, Any]:
    document = as_document(found)
    del document["points"], document["our_points"]
    year = experiment.years.get(found.player)
    return {"kind": "cell", **document, "n": found.size, "year": year, **_points([found], experiment)}


def _points(cells: list[Cell], experiment: Experiment) -> dict[str, list[float]]:
    mine, theirs = (estimate(cells, experiment.scenarios, of_ours=ours) for ours in (False, True))
    return {
        name: [round(value, DIGITS) for value in (found.mean, found.low, found.high)]
        for name, found in (("points", mine), ("our_points", theirs))
    }
