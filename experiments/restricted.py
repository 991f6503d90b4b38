"""Points from a set of partners against NashConv: restricted Nash responses, a reference for trained policies.

For each p the opponent is one of the memoryless members of the roster train with probability p, and otherwise a free
player. Finished pools are stored in output_dir; rows of finished numbers of turns are added to the results.

examples:
  dond experiment restricted                       # with restricted.yaml
  dond experiment restricted --set "turns=[2, 3]" --results mine.jsonl
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from pydantic import Field

from dond.cli.shell import FILE, Command, config_option, print_line, set_option
from dond_marl.errors import InputError
from dond_marl.files import append_lines, read_json_lines, user_path
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.seats import Partner
from dond_marl.solvers.equilibria import Policy
from dond_marl.solvers.odds import has_odds
from experiments.equilibrium_solver.exploitability import nash_conv, recall_response
from experiments.equilibrium_solver.restricted import (
    OrderedPool,
    RestrictedTree,
    Stages,
    fixed_set,
    ordered_pools,
    respond,
    shipped_policy,
)
from experiments.equilibrium_solver.tree import Memory, Tree
from experiments.kit import RESULTS, show_sections, table_section
from league.ledger.run_directory import source_commit
from league.settings.read import load_config
from league.settings.sections import PathText, Section
from league.tables.blocks import Section as TableSection
from partners.rosters import TRAIN, roster

PARTS = "pools.jsonl"


class Game(NamedTuple):
    """How games of one length are solved."""

    memory: Memory
    labels: int  # of claims: 2 for PROPOSE and INSIST
    every_order: bool  # of the items of each pool; otherwise one, drawn with the seed
    stages: Stages = ((0.05, 1.0, 50), (0.015, 1.0, 100))
    averaged: int = 0  # policies at the end


GAMES = {
    2: Game("perfect", 2, every_order=True),
    3: Game("perfect", 2, every_order=True),
    4: Game("perfect", 1, every_order=False),
    10: Game("last offer", 1, False, ((0.1, 3.0, 50), (0.05, 1.0, 50), (0.03, 1.0, 50)), averaged=4),
}


class RestrictedConfig(Section):
    """Settings of the experiment."""

    turns: tuple[int, ...] = Field(default=(2, 3, 10, 4), strict=False, description="a list of 2, 3, 4, 10")
    chances: tuple[float, ...] = Field(
        default=(0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0),
        strict=False,
        description="a list of numbers in 0..1, ascending from 0: probabilities of a member of the set",
    )
    seed: int = Field(default=0, ge=0, description="draws an order of the items of each pool")
    output_dir: PathText = Field(default="runs/restricted", description="the path of a folder")


@click.command(cls=Command, help=__doc__, interrupted="finished pools are stored; the same command continues")
@config_option("restricted.yaml", default="experiments/configs/restricted.yaml", help="YAML file (restricted.yaml)")
@set_option
@click.option("--results", type=FILE, metavar="FILE", help=f"results file ({RESULTS} in output_dir)")
def command(config_path: Path, overrides: tuple[str, ...], results: Path | None) -> None:
    """Solve what is missing, and print the table."""
    config = load_config(config_path, overrides, RestrictedConfig)
    chances, unknown = list(config.chances), set(config.turns) - GAMES.keys()
    if unknown or chances != sorted(set(chances)) or chances[:1] != [0] or chances[-1] > 1:
        raise InputError(
            f"turns are some of {', '.join(map(str, GAMES))}, and chances ascend from 0 to at most 1; got "
            f"turns={list(config.turns)}, chances={chances}"
        )
    folder = user_path(config.output_dir)
    path, stored = results or folder / RESULTS, folder / PARTS
    known = {(row["turns"], row["p"]) for row in read_json_lines(path)}
    for turns in config.turns:
        if any((turns, chance) not in known for chance in chances):
            rows = solve_turns(turns, chances, config.seed, stored)
            append_lines(path, [json.dumps(row) for row in rows if (turns, row["p"]) not in known])
    show_sections(restricted_section(read_json_lines(path)))


def solve_turns(turns: int, chances: Sequence[float], seed: int, stored: Path) -> list[dict[str, Any]]:
    """A row for each chance of a member of the set: sums over pools, each of which is added to the file ``stored``."""
    game, members = GAMES[turns], memoryless_members()
    partners, parts = [seat_occupant(name) for name in members], []
    for pool in ordered_pools(game.labels, None if game.every_order else seed):
        key = {"turns": turns, "chances": chances, "seed": seed, "members": members, "pool": pool.counts.tolist()}
        part = next((row for row in read_json_lines(stored) if key.items() <= row.items()), None)
        if part is None:
            began = time.process_time()
            rows = solve_pool(pool, turns, game, partners, chances)
            part = {**key, "rows": rows, "seconds": time.process_time() - began, **source_commit()}
            append_lines(stored, [json.dumps(part)])
            print_line(f"{turns} turns, pool {key['pool']}: {part['seconds']:.0f} s of CPU time")
        parts.append(part)
    shared = {
        "turns": turns,
        "memory": game.memory,
        "labels": game.labels,
        "pools": len(parts),
        "members": len(members),
    }
    seconds = round(sum(part["seconds"] for part in parts) / len(chances), 1)
    commit = {name: parts[-1][name] for name in source_commit()}
    rows = []
    for chance, of_pools in zip(chances, zip(*(part["rows"] for part in parts), strict=True), strict=True):
        sums = {name: np.sum([row[name] for row in of_pools], axis=0).round(6).tolist() for name in of_pools[0]}
        rows.append({**shared, "p": chance, **sums, "seconds": seconds, **commit})
    return rows


def memoryless_members() -> list[str]:
    """The members of the roster train without memory whose probabilities are known."""
    return [name for name in roster(TRAIN) if has_odds(seat_occupant(name), Rules())]


def solve_pool(
    pool: OrderedPool, turns: int, game: Game, partners: Sequence[Partner], chances: Sequence[float]
) -> list[dict[str, Any]]:
    """The measures for each chance, expected points of ten over the pool's share, by seat or as bounds.

    Each chance begins at the policies of the one before; 0 is the shipped equilibrium.
    """
    plain, rows = Tree(pool, turns, game.memory), []
    fixed = [fixed_set(partners, pool, turns, seat) for seat in (0, 1)]
    policies: list[Policy] = [shipped_policy(plain)] * 2
    for chance in chances:
        games = [RestrictedTree(pool, turns, game.memory, seat, chance, fixed=fixed[seat]) for seat in (0, 1)]
        effort = (game.stages, game.averaged) if chance else ((), 0)
        found = [respond(each, policy, *effort) for each, policy in zip(games, policies, strict=True)]
        policies, gains = [policy for policy, _ in found], [gain for _, gain in found]
        player = [policies[turn % 2][turn] for turn in range(turns)]
        itself, bounds = plain.values(player), response_bounds(plain, player)
        rows.append(
            {
                "from_set": [replace(games[seat], chance=1.0).values(policies[seat])[seat] for seat in (0, 1)],
                "itself": itself,
                "response": bounds,
                "nash_conv": (np.sum(bounds, axis=0) - sum(itself)).tolist(),
                "player_gain": [gains[seat].gains[seat] for seat in (0, 1)],
                "free_gain": [[bound - gains[1 - seat].values[seat] for bound in bounds[seat]] for seat in (0, 1)],
            }
        )
    return rows


def response_bounds(tree: Tree, policy: Policy) -> list[list[float]]:
    """Bounds of the points of a best response with perfect recall in each seat; equal where the tree has it too."""
    if tree.memory == "perfect":
        return [[value + gain] * 2 for value, gain in zip(*nash_conv(tree, policy), strict=True)]
    return [list(recall_response(tree, policy, seat)) for seat in (0, 1)]


def restricted_section(rows: Iterable[Mapping[str, Any]]) -> TableSection:
    """One row for each number of turns and p."""
    heads = ["turns", "p", "points from the set", "NashConv", "against itself, seat_0", "seat_1"]
    heads += ["best response gets, seat_0", "seat_1", "player's gain", "free opponent's gain"]
    cells = [
        [
            str(row["turns"]),
            f"{row['p']:g}",
            f"{np.mean(row['from_set']):.2f}",
            _interval(row["nash_conv"], 2),
            *(f"{value:.2f}" for value in row["itself"]),
            *(_interval(bounds, 2) for bounds in row["response"]),
            f"{sum(row['player_gain']):.3f}",
            _interval(np.sum(row["free_gain"], axis=0), 3),
        ]
        for row in sorted(rows, key=lambda row: (row["turns"], row["p"]))
    ]
    return table_section("Restricted Nash responses", heads, cells)


def _interval(bounds: Sequence[float], digits: int) -> str:
    low, high = (f"{max(bound, 0):.{digits}f}" for bound in bounds)
    return low if low == high else f"{low} to {high}"
