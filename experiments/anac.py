"""Play negotiators of the ANAC competitions against our occupants, in both seats of the test scenarios.

They are AGPL and not part of this project: install them, and NegMAS, into a separate environment and pass its Python.
They run in a process of their own. Finished cells are cached in output_dir; the same command continues with the rest.

examples:
  dond experiment anac --python ~/negmas/bin/python                  # with anac.yaml
  dond experiment anac --python ~/negmas/bin/python --run runs/league --member main --plot anac.svg
  dond experiment anac --python ~/negmas/bin/python --set scenarios=4 --set fewer={} --set packages=[negmas_negolog]
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import click
import numpy as np
from pydantic import Field, field_validator, model_validator

from dond_marl import __version__
from dond_marl.batch import Games
from dond_marl.envs.negmas_partner import NegMASPartner, NegMASWorker, worker_of
from dond_marl.errors import InputError, quote
from dond_marl.game import SEATS, Act, Rules
from dond_marl.occupants import check_spec, seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Partner
from dond_marl.statistics import Estimate, mean_over_scenarios, scenario_groups
from experiments.anac_tables import anac_sections, parse_anac
from experiments.kit import (
    cache_path,
    experiment_command,
    json_lines,
    read_cached,
    results_path,
    show_sections,
    write_cached,
    write_results,
)
from league.bench.run import submission_of_run
from league.cli.shell import FILE, WritableFile, print_line
from league.ledger.run_directory import source_commit
from league.settings.read import load_config
from league.settings.sections import PathText, Section, wrong
from league.tasks.values import machine
from partners.provenance import identity


class AnacConfig(Section):
    """Settings of the experiment. The scenarios are a sample of the paper's test set, the same for all players."""

    packages: tuple[str, ...] = Field(
        default=("negmas_genius_agents", "negmas_negolog", "anl_agents.anl2024"),
        strict=False,
        description="a list of packages",
    )
    agents: tuple[str, ...] = Field(default=(), strict=False, description="a list of dotted paths")
    leave_out: tuple[str, ...] = Field(default=(), strict=False, description="a list of dotted paths")
    ours: tuple[str, ...] = Field(strict=False, min_length=1, description="a list of occupants")
    scenarios: int = Field(default=20, ge=2, le=392, description="of the 392 of lewis, split paper_test")
    block: int = Field(
        default=28, ge=1, le=392, description="scenarios; all agents play a block before the next one begins"
    )
    fewer: dict[str, int] = Field(default_factory=dict, description="a mapping from a dotted path to a number")
    max_turns: int = Field(default=10, ge=1, le=100)
    seed: int = Field(default=0, ge=0)
    limit: float = Field(default=2.0, gt=0, le=3600, description="seconds")
    output_dir: PathText = Field(default="runs/anac", description="the path of a folder")

    @field_validator("ours")
    @classmethod
    def _known(cls, occupants: tuple[str, ...]) -> tuple[str, ...]:
        for spec in occupants:
            check_spec(spec)
        return occupants

    @model_validator(mode="after")
    def _of_the_sample(self) -> AnacConfig:
        for name, number in self.fewer.items():
            if not 2 <= number <= self.scenarios:
                raise wrong(f"{name}: a number in 2..{self.scenarios}; got {quote(number)}", "fewer")
        if not self.packages and not self.agents:
            raise wrong("name a package or an agent", "packages")
        return self


SOURCE, SPLIT = "lewis", "paper_test"
DIGITS = 4


class AnacCell(NamedTuple):
    """Games of one player against one of our occupants in one seat, on K scenarios; all players get the same noise."""

    player: str  # a dotted path, or the name of an occupant
    ours: str
    seat: int  # the player's
    points: list[int]  # [K] of the player
    our_points: list[int]  # [K] of the occupant
    deals: float  # share of games
    turns: float  # acts of both seats per game
    opens: float  # share of its value that the player's first offers claim; nan without offers
    closes: float  # the same of its last offers
    offered: int  # games in which it made an offer
    forfeits: dict[str, int]  # games that it forfeited, by reason
    cpu_ms: float  # processor time per game, of the player's process and this one

    @property
    def size(self) -> int:
        """Number of games, K."""
        return len(self.points)


def sample_scenarios(number: int, seed: int) -> Scenarios:
    """``number`` of the 392 scenarios of the paper's test set, in an order drawn from the seed."""
    table = open_source(SOURCE, split=SPLIT).table
    assert table is not None
    return table.rows(generator(seed, "anac").permutation(table.size)[:number])


def play_cell(
    player: Partner, occupant: Partner, seat: int, scenarios: Scenarios, max_turns: int, seed: int, block: int = 0
) -> Games:
    """The games of ``player`` in ``seat``; the noise depends on the block, not on the players."""
    both = (player, occupant) if seat == 0 else (occupant, player)
    return rollout(both, scenarios, Rules(max_turns), seed=seed, index=(seat, block), prior=SOURCE)


def summarise_cell(
    player: str, occupant: str, seat: int, games: Games, forfeits: dict[str, int], cpu_ms: float
) -> AnacCell:
    """The figures of these games."""
    opens, closes, offered = claimed_shares(games, seat)
    return AnacCell(
        player,
        occupant,
        seat,
        games.scores[:, seat].tolist(),
        games.scores[:, 1 - seat].tolist(),
        round(float(games.deal.mean()), DIGITS),
        round(float(games.turns.mean()), DIGITS),
        round(opens, DIGITS),
        round(closes, DIGITS),
        offered,
        forfeits,
        round(cpu_ms, 2),
    )


def merge_blocks(blocks: Sequence[AnacCell]) -> AnacCell:
    """The blocks of one cell, in order, merged into one."""
    games = [block.size for block in blocks]
    offered = [block.offered for block in blocks]
    forfeits: Counter[str] = Counter()
    for block in blocks:
        forfeits.update(block.forfeits)
    return AnacCell(
        *blocks[0][:3],
        [points for block in blocks for points in block.points],
        [points for block in blocks for points in block.our_points],
        _weighted_mean([block.deals for block in blocks], games),
        _weighted_mean([block.turns for block in blocks], games),
        _weighted_mean([block.opens for block in blocks], offered),
        _weighted_mean([block.closes for block in blocks], offered),
        sum(offered),
        dict(forfeits),
        _weighted_mean([block.cpu_ms for block in blocks], games),
    )


def _weighted_mean(values: Sequence[float], weights: Sequence[int]) -> float:
    """The weighted mean of the values with a positive weight; nan without any."""
    some = [(value, weight) for value, weight in zip(values, weights, strict=True) if weight]
    return round(sum(v * w for v, w in some) / sum(w for _, w in some), DIGITS) if some else math.nan


def claimed_shares(games: Games, seat: int) -> tuple[float, float, int]:
    """Mean share of its value that a seat claims in its first offer and in its last one, and the games with offers.

    The shares are nan without offers.
    """
    own = np.arange(games.act.shape[1]) % len(SEATS) == seat
    offers = np.isin(games.act, (Act.PROPOSE, Act.INSIST)) & own
    some = offers.any(axis=1)
    if not some.any():
        return math.nan, math.nan, 0
    values = games.scenarios.utilities[:, seat].astype(np.int64)
    wholes = (values * games.scenarios.counts).sum(axis=1)
    shares = (games.oA * values[:, None]).sum(axis=2) / wholes[:, None]
    rows = np.flatnonzero(some)
    first = shares[rows, offers[rows].argmax(axis=1)]
    last = shares[rows, offers.shape[1] - 1 - offers[rows, ::-1].argmax(axis=1)]
    return float(first.mean()), float(last.mean()), len(rows)


def cell_to_json(found: AnacCell) -> dict[str, Any]:
    """A cell as JSON values; nan becomes ``None``."""
    return {key: None if value != value else value for key, value in found._asdict().items()}


def cell_from_json(document: dict[str, Any]) -> AnacCell:
    """The cell of :func:`as_document`."""
    read: dict[str, Any] = {key: math.nan if value is None else value for key, value in document.items()}
    return AnacCell(**read)


CONFIDENCE = 0.95
YEAR = re.compile(r"\by(?P<year>20\d\d)\b|anl(?P<anl>20\d\d)")


class AnacExperiment(NamedTuple):
    """All cells and what they were played with."""

    config: AnacConfig
    ours: tuple[str, ...]
    identities: dict[str, str]  # of our occupants: exact parameters and weights
    cells: list[AnacCell]  # of the agents, and of our occupants against each other
    years: dict[str, str]  # by agent: the year of its competition, or its package
    versions: dict[str, str]
    refused: dict[str, str]  # agents that did not load, by reason
    day: str
    scenarios: Scenarios


def run_experiment(
    config: AnacConfig, python: str | None, more: Mapping[str, tuple[Partner, str]], report: Callable[[str], None]
) -> AnacExperiment:
    """Play every cell that is not cached in ``output_dir``. ``more``: partners by name, each with its identity.

    Raises :class:`InputError` if no agent loads.
    """
    worker = worker_of(python)
    modules = _list_agents(config, worker)
    occupants: dict[str, tuple[Partner, str]] = {spec: (seat_occupant(spec), identity(spec)) for spec in config.ours}
    occupants.update(more)
    scenarios = sample_scenarios(config.scenarios, config.seed)
    cache = _CellCache(config, python, worker)
    found: dict[tuple[str, str, int], list[AnacCell]] = {}  # by agent, occupant and seat: one cell per block
    for first in range(0, config.scenarios, config.block):
        of_block = []
        for path, name, seat in product(modules, occupants, (0, 1)):
            stop = min(first + config.block, config.fewer.get(path, config.scenarios))
            rows = scenarios.rows(np.arange(first, max(first, stop)))
            cell_of_block = cache.block_cell(path, name, *occupants[name], seat, first, rows)
            if cell_of_block is not None:
                of_block.append(cell_of_block)
                found.setdefault((path, name, seat), []).append(cell_of_block)
        report(_progress_line(of_block, first, config))
    refused = cache.refused
    if len(refused) == len(modules):
        raise InputError(f"none of {len(modules)} agents loads; {next(iter(refused.values()), '')}")
    # Some cells of an agent that no longer loads may be cached: it is left out entirely.
    complete = [merge_blocks(blocks) for (path, _, _), blocks in found.items() if path not in refused]
    cells = [*_own_cells(config, occupants, scenarios), *complete]
    years = {path: _competition_year(path, module) for path, module in modules.items() if path not in refused}
    identities = {name: exact for name, (_, exact) in occupants.items()}
    day = date.today().isoformat()
    return AnacExperiment(config, tuple(occupants), identities, cells, years, cache.versions, refused, day, scenarios)


class _CellCache:
    """Cells of blocks, from the cache or played and cached; an agent is loaded when it first plays."""

    def __init__(self, config: AnacConfig, python: str | None, worker: NegMASWorker) -> None:
        self._config, self._python, self._worker = config, python, worker
        self._folder = Path(config.output_dir).expanduser() / "cells"
        self._agents: dict[str, NegMASPartner] = {}
        self.versions: dict[str, str] = {}
        self.refused: dict[str, str] = {}  # agents that did not load, by reason

    def block_cell(
        self, path: str, name: str, partner: Partner, identity_of: str, seat: int, first: int, rows: Scenarios
    ) -> AnacCell | None:
        """An agent against an occupant on the scenarios ``rows``; ``None`` for no scenarios or an agent that fails."""
        if not rows.size or path in self.refused:
            return None
        config = self._config
        same = {"seed": config.seed, "max_turns": config.max_turns, "limit": config.limit}
        place_of = {"agent": path, "ours": identity_of, "seat": seat, "first": first, "scenarios": rows.size}
        file = cache_path(self._folder, {**place_of, **same})
        document = read_cached(file)
        if document is None:
            try:
                agent = self._agents.get(path) or NegMASPartner(path, python=self._python, limit=config.limit)
            except InputError as error:
                self.refused[path] = str(error)
                return None
            self._agents[path] = agent
            before, theirs, own = agent.forfeits.copy(), self._worker.cpu_seconds(), process_time()
            games = play_cell(agent, partner, seat, rows, config.max_turns, config.seed, first)
            spent = max(self._worker.cpu_seconds() - theirs, 0.0) + process_time() - own
            played = summarise_cell(path, name, seat, games, dict(agent.forfeits - before), spent * 1000 / games.size)
            document = {"cell": cell_to_json(played), "versions": agent.versions}
            write_cached(file, document)
        self._same_versions(document["versions"])
        return cell_from_json(document["cell"])

    def _same_versions(self, versions: dict[str, str]) -> None:
        """Record them. Raises :class:`InputError` if a package has another version than in an earlier cell."""
        for name, version in versions.items():
            before = self.versions.setdefault(name, version)
            if before != version:
                raise InputError(
                    f"the cells in {self._folder} are of {name} {before} and of {name} {version}, which cannot be "
                    f"compared: name another output_dir, or remove those cells"
                )


def _progress_line(played: list[AnacCell], first: int, config: AnacConfig) -> str:
    games = sum(summarise_cell.size for summarise_cell in played)
    spent = sum(summarise_cell.cpu_ms * summarise_cell.size for summarise_cell in played) / 1000
    lost = Counter[str]()
    for each in played:
        lost[each.player] += sum(each.forfeits.values())
    most = min(first + config.block, config.scenarios)
    return f"scenarios {first + 1} to {most} of {config.scenarios}: {games:,} games, {spent:.0f} CPU seconds" + "".join(
        f"; {path} forfeits {times}" for path, times in lost.items() if times
    )


def _list_agents(config: AnacConfig, worker: NegMASWorker) -> dict[str, str]:
    modules = {path: module for package in config.packages for path, module in worker.agents(package).items()}
    modules.update({path: path.rpartition(".")[0] for path in config.agents})
    unknown = [path for path in (*config.leave_out, *config.fewer) if path not in modules]
    if unknown:
        raise InputError(f"leave_out and fewer name {', '.join(unknown)}, which is none of the {len(modules)} agents")
    return {path: module for path, module in modules.items() if path not in config.leave_out}


def _own_cells(
    config: AnacConfig, occupants: Mapping[str, tuple[Partner, str]], scenarios: Scenarios
) -> list[AnacCell]:
    return [
        summarise_cell(
            player,
            partner,
            seat,
            play_cell(occupants[player][0], occupants[partner][0], seat, scenarios, config.max_turns, config.seed),
            {},
            0,
        )
        for player in occupants
        for partner in occupants
        for seat in (0, 1)
    ]


def _competition_year(path: str, module: str) -> str:
    found = YEAR.search(module)
    return (found["year"] or found["anl"]) if found else path.partition(".")[0]


def estimate_points(cells: list[AnacCell], scenarios: Scenarios, *, of_ours: bool = False) -> Estimate:
    """Mean points over cells of the same scenarios with equal weight; the interval is over scenarios."""
    size = min(each.size for each in cells)
    values = np.array([(each.our_points if of_ours else each.points)[:size] for each in cells], dtype=np.float64)
    groups = scenario_groups(scenarios.rows(np.arange(size)))
    return mean_over_scenarios(values, groups, CONFIDENCE)


def anac_lines(experiment: AnacExperiment) -> str:
    """The results file: a header, then one line per cell, then one per player against all of our occupants."""
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
    rows = [first, *(_cell_row(each, experiment) for each in experiment.cells)]
    for player in dict.fromkeys(each.player for each in experiment.cells):
        own = [each for each in experiment.cells if each.player == player]
        rows.append({"kind": "player", "who": player, "n": sum(c.size for c in own), **_point_bounds(own, experiment)})
    for name in experiment.ours:
        own = [each for each in experiment.cells if each.ours == name and each.player in experiment.years]
        own = [each for each in own if each.size == config.scenarios]
        for seat, some in ((None, own), *((seat, [each for each in own if each.seat == 1 - seat]) for seat in (0, 1))):
            if some:
                n = sum(each.size for each in some)
                rows.append({"kind": "field", "who": name, "seat": seat, "n": n, **_point_bounds(some, experiment)})
    return json_lines(rows)


def _cell_row(found: AnacCell, experiment: AnacExperiment) -> dict[str, Any]:
    document = cell_to_json(found)
    del document["points"], document["our_points"]
    year = experiment.years.get(found.player)
    return {"kind": "cell", **document, "n": found.size, "year": year, **_point_bounds([found], experiment)}


def _point_bounds(cells: list[AnacCell], experiment: AnacExperiment) -> dict[str, list[float]]:
    mine, theirs = (estimate_points(cells, experiment.scenarios, of_ours=own) for own in (False, True))
    return {
        name: [round(value, DIGITS) for value in (found.mean, found.low, found.high)]
        for name, found in (("points", mine), ("our_points", theirs))
    }


@experiment_command(__doc__, "anac.yaml")
@click.option("--python", metavar="FILE", help="Python of an environment with NegMAS and the agents (this one)")
@click.option("--run", "folder", type=FILE, metavar="FOLDER", help="a league's folder; a member of it plays too")
@click.option("--member", metavar="NAME", help="with --run: its name, if the league has several mains")
@click.option("--plot", type=WritableFile(), metavar="FILE", help="also draw the figure, as SVG")
def command(
    config_path: Path,
    overrides: tuple[str, ...],
    results: Path | None,
    python: str | None,
    folder: Path | None,
    member: str | None,
    plot: Path | None,
) -> None:
    """Play, print the tables, and write the results."""
    from experiments.figures import anac_svg

    if member is not None and folder is None:
        raise InputError("--member needs --run, a league's folder")
    config = load_config(config_path, overrides, AnacConfig)
    path = results_path(results, config.output_dir)
    more = {}
    if folder is not None:
        submission = submission_of_run(folder.expanduser(), member)
        more = {member or "main": (submission.player.partner(), submission.known.identity)}
    text = anac_lines(
        run_experiment(config, None if python is None else str(Path(python).expanduser()), more, print_line)
    )
    read = parse_anac(text.splitlines())
    show_sections(*anac_sections(read))
    write_results(path, text)
    if plot is not None:
        write_results(plot, anac_svg(read))
