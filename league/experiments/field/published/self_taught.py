"""Who learned without people, beside their clone: one learner that meets only itself, and response oracles (PSRO).

Both are leagues, and each is then set against a clone of people in OpenSpiel's ``bargaining``, as Li et al. 2023 (arXiv
2302.00797) set theirs against people, and in this game. What the oracles play is the mixture of them in each seat that
the replicator dynamics of their last table end in. Needs the package ``open_spiel``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field
from rich.console import Console

from dond_marl.occupants import seat_occupant
from dond_marl.seats import Partner
from league.experiments.field.bargaining import GAMES, OURS, Table
from league.experiments.field.published.results import Found, Row, plain_of, row_of
from league.experiments.kept import made_now, place, read, write
from league.settings.sections import PathText, Section
from partners.mixture import Mixture
from partners.provenance import identity

LEAST = 0.001  # of a mixture; members with less are left out
FINDINGS, SOLUTION, SEATS = "meta_game.json", "replicator", ("seat_0", "seat_1")
PLAYED_WITH = ("numpy", "torch", "open_spiel")
HERE = "_here"  # after a name: in this game; without it in OpenSpiel's


class LeagueSection(Section):
    """One way to learn: a league, what it does otherwise, and who of it plays."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,29}$", description="small letters, digits and _")
    config: PathText = Field(description="the path of the league's settings, or the name of shipped ones")
    settings: dict[str, Any] = Field(default_factory=dict, description="dotted keys of it with other values")
    member: str = Field(min_length=1, description="the learner")
    plays: Literal["itself", "mixture"] = Field(default="itself", description="the learner, or its snapshots' mixture")


class SelfTaughtConfig(Section):
    """All settings."""

    title: str = Field(default="ours", min_length=1, description="the head of its column beside published figures")
    seeds: int = Field(default=3, ge=1, le=1000)
    against: str = Field(default="expert(kind=supervised,greedy=False)", description="an occupant: the clone of people")
    instances: int = Field(default=100, ge=2, le=392, description="of each game, the first ones; each in both seats")
    leagues: tuple[LeagueSection, ...] = Field(strict=False, min_length=1, description="a list, each with a name")
    beside: tuple[str, ...] = Field(default=(), strict=False, description="occupants that learn nothing, as they are")
    output_dir: PathText = Field(default="runs/self_taught", description="the path of a folder")


class Made(NamedTuple):
    """Who plays of a league that was played to its end."""

    players: tuple[Partner, Partner]  # by seat
    shares: list[dict[str, float]]  # of each member, by seat


def perform(config: SelfTaughtConfig, report: Callable[[str], None]) -> Found:
    """Every league with every seed, played to its end, and set against the clone in both games.

    What is done is kept in ``output_dir``; a league that was stopped goes on with its next round. Raises what leagues
    raise, and :class:`dond_marl.errors.InputError` without OpenSpiel.
    """
    folder, clone, rows = Path(config.output_dir).expanduser(), seat_occupant(config.against), []
    against = identity(config.against)  # what exactly it is, weights too
    tables = {game: Table(game, {"clone": clone}) for game in GAMES}
    mixtures: dict[str, list[list[dict[str, float]]]] = {}
    for league in config.leagues:
        for seed in range(config.seeds):
            what = {"league": league.model_dump(mode="json"), "seed": seed}
            players = made(league, seed, place(folder / "leagues", what).with_suffix(""))
            mixtures.setdefault(league.name, []).append(players.shares)
            for game, table in tables.items():
                path = place(folder, {**what, "game": game, "against": against, "instances": config.instances})
                kept = read(path)
                row = _row(league.name, seed, game, table, players, config.instances) if kept is None else row_of(kept)
                if kept is None:
                    row = row._replace(**made_now(*PLAYED_WITH))
                    write(path, plain_of(row))
                report(f"{row.who}, seed {seed}: {row.measures['points']:.2f} v {row.measures['left']:.2f} points")
                rows.append(row)
    for spec in config.beside:
        player = seat_occupant(spec)
        for game, table in tables.items():
            row = _row(spec, 0, game, table, Made((player, player), []), config.instances)
            rows.append(row._replace(**made_now(*PLAYED_WITH)))
    rows.sort(key=lambda row: (row.who.endswith(HERE), row.who, row.seed))
    return Found({**config.model_dump(mode="json", exclude={"output_dir"}), "mixtures": mixtures}, rows)


def _row(name: str, seed: int, game: str, table: Table, made: Made, instances: int) -> Row:
    """One player's games against the clone, each instance in both seats."""
    table.ours.update(zip(SEATS, made.players, strict=True))
    own, left = [], []
    for instance in range(instances):
        for seat in (0, 1):
            players = (SEATS[0], "clone") if seat == 0 else ("clone", SEATS[1])
            returns = table.play(instance, players)
            own.append(returns[seat])
            left.append(returns[1 - seat])
    points, other = float(np.mean(own)), float(np.mean(left))
    measures = {"points": points, "left": other, "joint": (points + other) / 2, "nash": points * other}
    measures["deals"] = float(np.mean(np.add(own, left) > 0))
    return Row(name + (HERE if game == OURS else ""), seed, len(own), measures, [])


def made(league: LeagueSection, seed: int, folder: Path) -> Made:
    """The league in ``folder``: what was begun goes on, and what has ended is taken as it is."""
    run = _played(league, seed, folder)
    if league.plays == "itself":
        player = _checkpoint(run, league.member)
        return Made((player, player), [{league.member: 1.0}] * 2)
    document = json.loads((run / FINDINGS).read_text(encoding="utf-8"))
    shares = []
    for seat in SEATS:
        all_of = document["solutions"][SOLUTION]["shares"][seat]
        listed = {member: float(share["value"]) for member, share in all_of.items() if share["value"] >= LEAST}
        shares.append({member: share / sum(listed.values()) for member, share in listed.items()})
    first, second = (Mixture([_member(run, name) for name in of], list(of.values())) for of in shares)
    return Made((first, second), shares)


def _played(league: LeagueSection, seed: int, folder: Path) -> Path:
    """The folder of its run, which has ended."""
    from league import play_league  # PyTorch is loaded from here on
    from league.display.league import QuietWatcher
    from league.ledger.run_directory import NoRun, newest_run
    from league.rounds.runner import run_league

    try:
        directory = newest_run(folder)
    except NoRun:
        return play_league(league.config, league.settings, seed=seed, folder=folder).folder
    if not (directory.path / FINDINGS).is_file():
        run_league(None, directory, QuietWatcher(Console(stderr=True)))
    return directory.path


def _member(run: Path, name: str) -> Partner:
    """A member of the league: a learner or its snapshot as a checkpoint, an occupant by its name."""
    from league.ledger.ledger import ReadLedger

    with ReadLedger(run / "ledger.sqlite") as ledger:
        spec = {member.name: member.spec for member in ledger.members()}[name]
    return _checkpoint(run, name) if spec is None else seat_occupant(spec)


def _checkpoint(run: Path, name: str) -> Partner:
    """Its weights, written beside the run as a checkpoint."""
    from league.ledger.export import export

    path = run / f"{name}.json"
    export(run, name, path)
    return seat_occupant({"kind": "checkpoint", "path": str(path)})
