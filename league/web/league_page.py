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
from league.display.svg.markup import Markup, counted, element, joined
from league.standings.ladder import Standing
from league.tables.figures import format_number, with_margin
from league.tables.standings import ANSWERED_HEADING, answer_count
from league.tasks.values import Decision
from league.web.background import MATCH_SECONDS, WithDeadline
from league.web.frame import facts_list, form, load, problem, select
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
SWIPE = element("p", "Swipe sideways to see all of it.", class_="quiet swipe")  # shown on narrow screens alone


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
    if len(league.stages) > 1 and not league.over:
        facts.insert(1, ("stage", stage))
    coming = f"Round {league.rounds + 1}" if league.rounds < league.counted else "The closing measurement"
    state = "The league is over." if league.over else f"{coming} comes next."
    bar = element("span", element("i", style=f"width:{100 * done:.1f}%"), class_="bar", aria_hidden="true")
    found = element("p", " ".join(league.headline), class_="headline") if league.rounds else None
    return joined((element("p", state, class_="quiet"), bar, found, facts_list(facts, "facts-row")))


def ladder(league: LeagueView) -> Markup:
    """Ladder: each member's points against all others, with its interval as a whisker and in figures."""
    members = {member.name: member for member in league.members}
    low, high = whole_range(row.points for row in league.standings)
    scale = element("td", element("small", f"{low:g}"), element("small", f"{high:g}"), class_="scale")
    costly = {member.name for member in league.members if member.costly}
    own = {row.member: text for row in league.standings if (text := answer_count(row, costly)) is not None}
    last = (ANSWERED_HEADING,) if own else ()
    heads = ("#", "member", "points of ten", "", "of response", "of Nash", "left", "deals", *last)
    head = element("tr", *(element("th", name, scope="col") if name else scale for name in heads))
    rows = []
    for rank, row in enumerate(league.standings, start=1):
        member = members.get(row.member)
        role = ROLES.get(member.role, "") if member else ""
        note = element("small", role, class_=f"role {member.role}") if member and role else None
        shares = row.of_response.mean, row.of_nash.mean
        cells = (
            element("td", rank if row.ranked else "\N{EN DASH}", class_="rank", title=row.unranked_because or None),
            element("th", _member_link(league, row.member), note, scope="row"),
            element("td", with_margin(row.points), class_="strong"),
            element("td", whisker(row.points, low, high), class_="whisker"),
            *(element("td", format_number(share, "share")) for share in shares),
            element("td", format_number(row.left)),
            element("td", format_number(row.deals, "share")),
            element("td", own.get(row.member, "")) if own else None,
        )
        rows.append(element("tr", *cells))
    widest = max((row.points.n for row in league.standings), default=0)
    about = (
        f"Mean own points of ten over all others in both seats, no deal being 0; {widest:,} games a member; ± and "
        f"whiskers: {league.confidence:.0%} interval over scenarios."
    )
    if own:
        about += " Answered: decisions by the member itself; a fallback policy made the others."
    unranked = [
        element("p", f"{row.member} has no rank: {row.unranked_because}.", class_="quiet")
        for row in league.standings
        if not row.ranked
    ]
    table = element("table", element("thead", head), element("tbody", *rows), class_="numbers ladder")
    return joined((element("p", about, class_="quiet"), SWIPE, table, *unranked))


def _member_link(league: LeagueView, member: str) -> Markup:
    """A member's name, linked to a game against it."""
    address = f"/?{urlencode({'run': str(league.folder), 'member': member})}"
    return element("a", member, class_="name", href=address, title=f"Play against {member}")


def curves(league: LeagueView) -> Markup:
    """Learning curves: points of the learners against the yardstick, by their own decisions."""
    return joined((SWIPE, curve_chart(league.curves, league.yardstick, league.confidence)))


def heat_map(league: LeagueView) -> Markup:
    """Cross-play matrix: mean points of the row's member against the column's, in the ladder's order."""
    first: tuple[Standing, ...] = league.standings[:MOST_CELLS]
    ranks = (element("span", rank, title=row.member) for rank, row in enumerate(first, start=1))
    head = element("tr", element("td"), *(element("th", rank, scope="col") for rank in ranks))
    rows = []
    for rank, row in enumerate(first, start=1):
        cells = []
        for column, mean in zip(first, league.cells[rank - 1], strict=False):
            if math.isnan(mean):
                cells.append(element("td", "—", class_="none", title=f"{row.member} has not played {column.member}"))
                continue
            title = f"{row.member} scores {mean:.2f} against {column.member}"
            heat = f"--heat:{min(max(mean / TEN, 0), 1):.2f}"
            pair = {"run": str(league.folder), "one": row.member, "other": column.member}
            games = element("a", f"{mean:.1f}", href=f"/arena?{urlencode(pair)}", title=f"{title}; play a match")
            cells.append(element("td", games, style=heat))
        name = element("span", row.member, class_="name")
        rows.append(element("tr", element("th", element("small", rank), name, scope="row"), *cells))
    left = len(league.standings) - len(first)
    more = f" The best {len(first)} of {len(league.standings)}." if left else ""
    text = f"Points of ten of the row against the column, columns by rank; a cell links to a match of the two.{more}"
    note = element("p", text, class_="quiet")
    return joined((note, SWIPE, element("table", element("thead", head), element("tbody", *rows), class_="heat")))


def lineage(league: LeagueView) -> Markup:
    """Lineage: each learner with its snapshots, and the fixed members."""
    scores = {row.member: row.points.mean for row in league.standings}
    families = []
    for learner in (member for member in league.members if member.live):
        state = league.states.get(learner.name)
        again = f", started over {counted(state.life, 'time')}" if state is not None and state.life else ""
        steps = [
            element(
                "li",
                element("b", child.name, class_="name"),
                element("small", f"after round {child.born}, scores {format_number(scores.get(child.name, math.nan))}"),
            )
            for child in league.members
            if child.parent == learner.name
        ]
        text = f"{describe_member(learner, state)}{again}; scores {format_number(scores.get(learner.name, math.nan))}"
        now = element("li", element("b", learner.name, class_="name"), element("small", text), class_="now")
        families.append(element("ol", *steps, now, class_="family"))
    others = []
    for split, heading in SPLITS.items():
        if names := [member.name for member in league.members if member.role == "fixed" and member.split == split]:
            others.append(element("p", f"{heading}: ", ", ".join(names), ".", class_="quiet"))
    return joined((*families, *others))


def curriculum(league: LeagueView) -> Markup:
    """Curriculum: the stages with their rounds, and the latest decisions."""
    stages = [
        element(
            "li",
            element("span", stage.text),
            element("small", counted(stage.rounds, "round") + (", now" if stage.now else "")),
            class_="now" if stage.now else None,
        )
        for stage in league.stages
    ]
    decisions = [
        element(
            "li",
            element("small", f"round {number + 1}"),
            element("span", f"{decision.subject}: {decision.kind}{'' if _took_effect(decision) else ' refused'}"),
            element("small", decision.reason),
        )
        for number, decision in league.decisions
    ]
    parts = [element("ol", *stages, class_="stages")] if stages else [element("p", "No curriculum.", class_="quiet")]
    if decisions:
        parts += [element("h3", "Decided lately"), element("ol", *decisions, class_="decisions")]
    return joined(parts)


def _took_effect(decision: Decision) -> bool:
    """Whether the decision took effect; repairs always do."""
    return decision.taken or decision.kind == "repair"


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
    menu = None
    if len(runs) > 1:
        names = {str(each): str(each) for each in runs}
        menu = form("/league", select("Run", "run", names, str(run)), method="get", data_auto=True)
    heading = element("div", element("h1", "League"), menu, class_="heading")
    if run is None:
        text = "No league has been played here yet. Start one with: make league"
        return joined((heading, element("p", text, class_="panel empty")))
    panels = load(f"/league/panels?{urlencode({'run': str(run)})}", f"Reading {run} …", every=REFRESH)
    return joined((heading, panels, element("div", id="watched", class_="looked-at")))


def league_panels(league: LeagueView | None, run: Path) -> Markup:
    """All panels of a league and the form of a game to watch; a sentence before it has begun."""
    if league is None:
        return element("p", f"{run} has not begun yet.", class_="panel empty")
    panels = [
        element(
            "section",
            element("h2", name),
            # Wide tables scroll, by keyboard too.
            element("div", draw(league), class_="scroll", tabindex="0", role="region", aria_label=name),
            class_=f"panel {name.lower()}",
        )
        for name, draw in PANELS.items()
    ]
    return joined((element("div", *panels, class_="grid-of-panels"), _watch_form(league, run)))


def _watch_form(league: LeagueView, run: Path) -> Markup | None:
    """The form that plays one game of two members."""
    names = [row.member for row in league.standings]
    if not names:
        return None
    listed = {name: name for name in names}
    menus = (select("Who opens", "first", listed, names[0]), select("Who answers", "second", listed, names[:2][-1]))
    watch = form(
        "/league/watch",
        element("div", *menus, class_="fields two"),
        element("button", "Watch a game", class_="button", type="submit"),
        problem(""),
        hidden={"run": str(run)},
        class_="watch-form",
        data_part="stepper",
        data_into="watched",
        data_busy="They are playing …",
    )
    return element("section", element("h2", "Watch two members play"), watch, class_="panel watch")


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
