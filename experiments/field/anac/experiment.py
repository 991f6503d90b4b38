"""Every negotiator that loads against everybody of ours, a block of scenarios after the other; what is done is kept."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from dond_marl import __version__
from dond_marl.envs.negmas_partner import NegMASPartner, NegMASWorker, worker_of
from dond_marl.errors import InputError
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Partner
from dond_marl.statistics import Estimate, mean_over_scenarios, scenario_groups
from experiments.field.anac.cells import (
    DIGITS,
    SOURCE,
    SPLIT,
    Cell,
    as_document,
    cell,
    from_document,
    play,
    sample,
    whole,
)
from experiments.field.anac.settings import AnacConfig
from experiments.kept import place, read, write
from league.ledger.run_directory import source_commit
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
    kept = _Kept(config, python, worker)
    found: dict[tuple[str, str, int], list[Cell]] = {}  # by agent, ours and seat: a cell for each block
    for first in range(0, config.scenarios, config.block):
        of_block = []
        for path, name, seat in product(modules, ours, (0, 1)):
            stop = min(first + config.block, config.fewer.get(path, config.scenarios))
            rows = scenarios.rows(np.arange(first, max(first, stop)))
            cell_of_block = kept.cell(path, name, *ours[name], seat, first, rows)
            if cell_of_block is not None:
                of_block.append(cell_of_block)
                found.setdefault((path, name, seat), []).append(cell_of_block)
        report(_said(of_block, first, config))
    refused = kept.refused
    if len(refused) == len(modules):
        raise InputError(f"none of {len(modules)} agents loads; {next(iter(refused.values()), '')}")
    # Of an agent that loads no more, some of what it played before may be kept: it is left out whole.
    complete = [whole(blocks) for (path, _, _), blocks in found.items() if path not in refused]
    cells = [*_between_ours(config, ours, scenarios), *complete]
    years = {path: _year(path, module) for path, module in modules.items() if path not in refused}
    identities = {name: what for name, (_, what) in ours.items()}
    day = date.today().isoformat()
    return Experiment(config, tuple(ours), identities, cells, years, kept.versions, refused, day, scenarios)


class _Kept:
    """The cells of blocks: read where they are kept, else played and kept; an agent is loaded when it first plays."""

    def __init__(self, config: AnacConfig, python: str | None, worker: NegMASWorker) -> None:
        self._config, self._python, self._worker = config, python, worker
        self._folder = Path(config.output_dir).expanduser() / "cells"
        self._agents: dict[str, NegMASPartner] = {}
        self.versions: dict[str, str] = {}
        self.refused: dict[str, str] = {}  # agents that did not load, and why

    def cell(
        self, path: str, name: str, partner: Partner, what: str, seat: int, first: int, rows: Scenarios
    ) -> Cell | None:
        """An agent against one of ours on some scenarios, ``first`` of all; ``None`` for none, and who is refused."""
        if not rows.size or path in self.refused:
            return None
        config = self._config
        same = {"seed": config.seed, "max_turns": config.max_turns, "limit": config.limit}
        place_of = {"agent": path, "ours": what, "seat": seat, "first": first, "scenarios": rows.size}
        file = place(self._folder, {**place_of, **same})
        document = read(file)
        if document is None:
            try:
                agent = self._agents.get(path) or NegMASPartner(path, python=self._python, limit=config.limit)
            except InputError as error:
                self.refused[path] = str(error)
                return None
            self._agents[path] = agent
            before, theirs, own = agent.forfeits.copy(), self._worker.cpu_seconds(), process_time()
            games = play(agent, partner, seat, rows, config.max_turns, config.seed, first)
            spent = max(self._worker.cpu_seconds() - theirs, 0.0) + process_time() - own
            played = cell(path, name, seat, games, dict(agent.forfeits - before), spent * 1000 / games.size)
            document = {"cell": as_document(played), "versions": agent.versions}
            write(file, document)
        self._same_versions(document["versions"])
        return from_document(document["cell"])

    def _same_versions(self, versions: dict[str, str]) -> None:
        """Note them. Raises :class:`InputError` where a package has another version than with another cell."""
        for name, version in versions.items():
            before = self.versions.setdefault(name, version)
            if before != version:
                raise InputError(
                    f"the cells in {self._folder} are of {name} {before} and of {name} {version}, which are not to be "
                    f"compared: name another output_dir, or remove those cells"
                )


def _said(played: list[Cell], first: int, config: AnacConfig) -> str:
    games = sum(cell.size for cell in played)
    spent = sum(cell.cpu_ms * cell.size for cell in played) / 1000
    lost = Counter[str]()
    for each in played:
        lost[each.player] += sum(each.forfeits.values())
    most = min(first + config.block, config.scenarios)
    return f"scenarios {first + 1} to {most} of {config.scenarios}: {games:,} games, {spent:.0f} CPU seconds" + "".join(
        f"; {path} forfeits {times}" for path, times in lost.items() if times
    )


def _agents(config: AnacConfig, worker: NegMASWorker) -> dict[str, str]:
    modules = {path: module for package in config.packages for path, module in worker.agents(package).items()}
    modules.update({path: path.rpartition(".")[0] for path in config.agents})
    unknown = [path for path in (*config.leave_out, *config.fewer) if path not in modules]
    if unknown:
        raise InputError(f"leave_out and fewer name {', '.join(unknown)}, which is none of the {len(modules)} agents")
    return {path: module for path, module in modules.items() if path not in config.leave_out}


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
        "code": {"version": __version__, **source_commit(), **json.loads(machine())},
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
