"""The league page: tables and charts of a running or finished league, and games of its members to watch.

The page fetches its panels again every second; they change only when the ledger has new rounds.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlencode

from dond_marl.records.record import GameRecord, records_of
from dond_marl.rollout import rollout
from dond_marl.statistics import TEN
from league.display.svg.axes import whisker, whole_range
from league.display.svg.curves import curve_chart
from league.display.svg.markup import Markup, count_noun
from league.standings.ladder import Standing
from league.tables.figures import format_number
from league.tables.standings import ANSWERED_HEADING, answer_count
from league.web.background import MATCH_SECONDS, WithDeadline
from league.web.frame import render
from league.web.league_follower import Follower, LeagueView, describe_member

ROLES = {
    "main": "learns",
    "main_exploiter": "exploits the mains",
    "league_exploiter": "exploits the league",
    "snapshot": "snapshot",
    "fixed": "",
}
SPLITS = {"train": "Fixed", "gate": "At the gate", "heldout": "Held out until the league is over"}
MOST_CELLS = 40  # members across the heat map; the ladder shows all


def summary(league: LeagueView) -> Markup:
    """Progress of the league: round, games, members and seconds a round."""
    done = league.rounds / max(league.rounds_in_all, 1)
    stage = next((stage.text.split(":")[0] for stage in league.stages if stage.now), "")
    pace = league.seconds / league.rounds if league.rounds else math.nan
    facts = [
        ("round", f"{min(league.rounds, league.counted)} of {league.counted}"),
        ("games", f"{league.games:,}"),
        ("members", f"{len(league.standings)}"),
        ("a round takes", "—" if math.isnan(pace) else f"{pace:.1f} s" if pace < 90 else f"{pace / 60:.1f} min"),
    ]
    if len(league.stages) > 1 and not league.is_over:
        facts.insert(1, ("stage", stage))
    coming = f"Round {league.rounds + 1}" if league.rounds < league.counted else "The closing measurement"
    state = "The league is over." if league.is_over else f"{coming} comes next."
    headline = " ".join(league.headline) if league.rounds else None
    return render("league", "summary", state, done, headline, facts)


def ladder(league: LeagueView) -> Markup:
    """Ladder: each member's points against all others, with its interval as a whisker and in figures."""
    members = {member.name: member for member in league.members}
    low, high = whole_range(row.points for row in league.standings)
    costly = {member.name for member in league.members if member.costly}
    own = {row.member: text for row in league.standings if (text := answer_count(row, costly)) is not None}
    rows = []
    for row in league.standings:
        member = members.get(row.member)
        rows.append(
            {
                "standing": row,
                "address": f"/?{urlencode({'run': str(league.folder), 'member': row.member})}",
                "role": ROLES.get(member.role, "") if member else "",
                "role_class": member.role if member else "",
                "whisker": whisker(row.points, low, high),
                "answered": own.get(row.member, ""),
            }
        )
    widest = max((row.points.n for row in league.standings), default=0)
    about = (
        f"Mean own points of ten over all others in both seats, no deal being 0; {widest:,} games a member; ± and "
        f"whiskers: {league.confidence:.0%} interval over scenarios."
    )
    if own:
        about += " Answered: decisions by the member itself; a fallback policy made the others."
    unranked = [f"{row.member} has no rank: {row.unranked_because}." for row in league.standings if not row.ranked]
    heading = ANSWERED_HEADING if own else ""
    return render("league", "ladder", about, rows, f"{low:g}", f"{high:g}", heading, unranked)


def curves(league: LeagueView) -> Markup:
    """Learning curves: points of the learners against the yardstick, by their own decisions."""
    return render("league", "curves", curve_chart(league.curves, league.yardstick, league.confidence))


def heat_map(league: LeagueView) -> Markup:
    """Cross-play matrix: mean points of the row's member against the column's, in the ladder's order."""
    first: tuple[Standing, ...] = league.standings[:MOST_CELLS]
    rows = []
    for row, means in zip(first, league.cells, strict=False):
        cells: list[dict[str, object]] = []
        for column, mean in zip(first, means, strict=False):
            if math.isnan(mean):
                cells.append({"mean": None, "title": f"{row.member} has not played {column.member}"})
                continue
            pair = {"run": str(league.folder), "one": row.member, "other": column.member}
            cells.append(
                {
                    "mean": mean,
                    "heat": min(max(mean / TEN, 0), 1),
                    "title": f"{row.member} scores {mean:.2f} against {column.member}; play a match",
                    "address": f"/arena?{urlencode(pair)}",
                }
            )
        rows.append((row.member, cells))
    left = len(league.standings) - len(first)
    more = f" The best {len(first)} of {len(league.standings)}." if left else ""
    note = f"Points of ten of the row against the column, columns by rank; a cell links to a match of the two.{more}"
    return render("league", "heat_map", note, rows)


def lineage(league: LeagueView) -> Markup:
    """Lineage: each learner with its snapshots, and the fixed members."""
    scores = {row.member: row.points.mean for row in league.standings}
    families = []
    for learner in (member for member in league.members if member.live):
        state = league.states.get(learner.name)
        again = f", started over {count_noun(state.life, 'time')}" if state is not None and state.life else ""
        snapshots = [
            (child.name, f"after round {child.born}, scores {format_number(scores.get(child.name, math.nan))}")
            for child in league.members
            if child.parent == learner.name
        ]
        text = f"{describe_member(learner, state)}{again}; scores {format_number(scores.get(learner.name, math.nan))}"
        families.append((snapshots, learner.name, text))
    others = []
    for split, heading in SPLITS.items():
        if names := [member.name for member in league.members if member.role == "fixed" and member.split == split]:
            others.append(f"{heading}: {', '.join(names)}.")
    return render("league", "lineage", families, others)


def curriculum(league: LeagueView) -> Markup:
    """Curriculum: the stages with their rounds, and the latest decisions."""
    return render("league", "curriculum", league.stages, league.decisions)


PANELS: dict[str, Callable[[LeagueView], Markup]] = {
    "Now": summary,
    "Ladder": ladder,
    "Learning": curves,
    "Curriculum": curriculum,
    "Cross-play": heat_map,
    "Lineage": lineage,
}
REFRESH = 1000  # milliseconds between two looks at a league


def league_page(runs: Sequence[Path], run: Path | None) -> Markup:
    """The page around the panels: a menu of the leagues, and the panels of ``run``."""
    names = {str(each): str(each) for each in runs}
    address = f"/league/panels?{urlencode({'run': str(run)})}"
    return render("league", "page", names, None if run is None else str(run), address, REFRESH)


def league_panels(league: LeagueView | None, run: Path) -> Markup:
    """All panels of a league and the form of a game to watch; a sentence before it has begun."""
    if league is None:
        return render("league", "not_begun", run)
    parts = {name: draw(league) for name, draw in PANELS.items()}
    return render("league", "panels", parts, str(run), {row.member: row.member for row in league.standings})


def play_members(run: Path, names: tuple[str, str], seed: int | None = None) -> GameRecord:
    """One game of two members with their current weights, the first opening, on the league's rules and scenarios.

    Raises one of :data:`league.web.occupants.CHOICE_ERRORS`.
    """
    seed = secrets.randbits(31) if seed is None else seed
    with Follower(run) as follower:
        game = follower.game()
        until = time.monotonic() + MATCH_SECONDS
        first, second = (WithDeadline(follower.partner(name), until) for name in names)
    source = game.open_source()
    games = rollout(
        (first, second),
        source.block(seed, 0, 1),
        game.rules(),
        seed=seed,
        index=(0,),
        prior=source.prior,
        reveal_partner_utilities=game.reveal_partner_utilities,
        illegal=game.illegal or "raise",
    )
    return records_of(games, names, source=source.label, seed=seed)[0]
