"""The parts of the league page, drawn from a :class:`~league.web.league.follower.Picture`."""

from __future__ import annotations

import math
from urllib.parse import urlencode

from dond_marl.statistics import TEN
from league.display.svg.curves import curve_chart
from league.display.svg.markup import Markup, counted, element, joined
from league.display.svg.whisker import reach, whisker
from league.standings.ladder import Standing
from league.tables.figures import format_number, with_margin
from league.tables.standings import ANSWERED, answer_count
from league.tasks.values import Decision
from league.web.league.follower import Picture, sentence

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


def summary(picture: Picture) -> Markup:
    """Where the league is, in four figures."""
    done = picture.rounds / max(picture.rounds_in_all, 1)
    stage = next((stage.text.split(":")[0] for stage in picture.stages if stage.now), "")
    pace = picture.seconds / picture.rounds if picture.rounds else math.nan
    facts = [
        ("round", f"{min(picture.rounds, picture.counted)} of {picture.counted}"),
        ("games", f"{picture.games:,}"),
        ("members", f"{len(picture.standings)}"),
        ("a round takes", "—" if math.isnan(pace) else f"{pace:.1f} s" if pace < 90 else f"{pace / 60:.1f} min"),
    ]
    if len(picture.stages) > 1 and not picture.over:
        facts.insert(1, ("stage", stage))
    figures = [element("div", element("dt", name), element("dd", value)) for name, value in facts]
    coming = f"Round {picture.rounds + 1}" if picture.rounds < picture.counted else "The closing measurement"
    state = "The league is over." if picture.over else f"{coming} comes next."
    bar = element("span", element("i", style=f"width:{100 * done:.1f}%"), class_="bar", aria_hidden="true")
    found = element("p", " ".join(picture.headline), class_="headline") if picture.rounds else None
    return joined((element("p", state, class_="quiet"), bar, found, element("dl", *figures, class_="facts-row")))


def ladder(picture: Picture) -> Markup:
    """Every member's points against all others, with the interval as a drawing and in figures."""
    members = {member.name: member for member in picture.members}
    low, high = reach(row.points for row in picture.standings)
    scale = element("td", element("small", f"{low:g}"), element("small", f"{high:g}"), class_="scale")
    costly = {member.name for member in picture.members if member.costly}
    own = {row.member: text for row in picture.standings if (text := answer_count(row, costly)) is not None}
    last = (ANSWERED,) if own else ()
    heads = ("#", "member", "points of ten", "", "of response", "of Nash", "left", "deals", *last)
    head = element("tr", *(element("th", name, scope="col") if name else scale for name in heads))
    rows = []
    for rank, row in enumerate(picture.standings, start=1):
        member = members.get(row.member)
        role = ROLES.get(member.role, "") if member else ""
        note = element("small", role, class_=f"role {member.role}") if member and role else None
        shares = row.of_response.mean, row.of_nash.mean
        cells = (
            element("td", rank if row.ranked else "\N{EN DASH}", class_="rank", title=row.unranked_because or None),
            element("th", _named(picture, row.member), note, scope="row"),
            element("td", with_margin(row.points), class_="strong"),
            element("td", whisker(row.points, low, high), class_="whisker"),
            *(element("td", format_number(share, "share")) for share in shares),
            element("td", format_number(row.left)),
            element("td", format_number(row.deals, "share")),
            element("td", own.get(row.member, "")) if own else None,
        )
        rows.append(element("tr", *cells))
    widest = max((row.points.n for row in picture.standings), default=0)
    about = (
        f"Mean own points of ten over all others in both seats, no deal being 0; {widest:,} games a member; ± and "
        f"whiskers: {picture.confidence:.0%} interval over scenarios."
    )
    if own:
        about += " Answered: own decisions of all that were asked for; a stated fallback made the others."
    unranked = [
        element("p", f"{row.member} has no rank: {row.unranked_because}.", class_="quiet")
        for row in picture.standings
        if not row.ranked
    ]
    table = element("table", element("thead", head), element("tbody", *rows), class_="numbers ladder")
    return joined((element("p", about, class_="quiet"), SWIPE, table, *unranked))


def _named(picture: Picture, member: str) -> Markup:
    """A member's name, which leads to a game against it."""
    address = f"/?{urlencode({'run': str(picture.folder), 'member': member})}"
    return element("a", member, class_="name", href=address, title=f"Play against {member}")


def curves(picture: Picture) -> Markup:
    """How the learners score against the yardstick, by their own decisions."""
    return joined((SWIPE, curve_chart(picture.curves, picture.yardstick, picture.confidence)))


def heat_map(picture: Picture) -> Markup:
    """What each row's member scores against each column's; both in the ladder's order."""
    first: tuple[Standing, ...] = picture.standings[:MOST_CELLS]
    ranks = (element("span", rank, title=row.member) for rank, row in enumerate(first, start=1))
    head = element("tr", element("td"), *(element("th", rank, scope="col") for rank in ranks))
    rows = []
    for rank, row in enumerate(first, start=1):
        cells = []
        for column, mean in zip(first, picture.cells[rank - 1], strict=False):
            if math.isnan(mean):
                cells.append(element("td", "—", class_="none", title=f"{row.member} has not met {column.member}"))
                continue
            title = f"{row.member} scores {mean:.2f} against {column.member}"
            heat = f"--heat:{min(max(mean / TEN, 0), 1):.2f}"
            pair = {"run": str(picture.folder), "one": row.member, "other": column.member}
            games = element("a", f"{mean:.1f}", href=f"/arena?{urlencode(pair)}", title=f"{title}; let them meet")
            cells.append(element("td", games, style=heat))
        name = element("span", row.member, class_="name")
        rows.append(element("tr", element("th", element("small", rank), name, scope="row"), *cells))
    left = len(picture.standings) - len(first)
    more = f" The best {len(first)} of {len(picture.standings)}." if left else ""
    text = f"Points of ten of the row against the column, columns by rank; a cell leads to games of the two.{more}"
    note = element("p", text, class_="quiet")
    return joined((note, SWIPE, element("table", element("thead", head), element("tbody", *rows), class_="heat")))


def lineage(picture: Picture) -> Markup:
    """Every learner with its snapshots, and who stands fixed."""
    scores = {row.member: row.points.mean for row in picture.standings}
    families = []
    for learner in (member for member in picture.members if member.live):
        state = picture.states.get(learner.name)
        again = f", started over {counted(state.life, 'time')}" if state is not None and state.life else ""
        steps = [
            element(
                "li",
                element("b", child.name, class_="name"),
                element("small", f"after round {child.born}, scores {format_number(scores.get(child.name, math.nan))}"),
            )
            for child in picture.members
            if child.parent == learner.name
        ]
        text = f"{sentence(learner, state)}{again}; scores {format_number(scores.get(learner.name, math.nan))}"
        now = element("li", element("b", learner.name, class_="name"), element("small", text), class_="now")
        families.append(element("ol", *steps, now, class_="family"))
    others = []
    for split, heading in SPLITS.items():
        if names := [member.name for member in picture.members if member.role == "fixed" and member.split == split]:
            others.append(element("p", f"{heading}: ", ", ".join(names), ".", class_="quiet"))
    return joined((*families, *others))


def curriculum(picture: Picture) -> Markup:
    """The stages, which of them is on, and what was decided lately."""
    stages = [
        element(
            "li",
            element("span", stage.text),
            element("small", counted(stage.rounds, "round") + (", now" if stage.now else "")),
            class_="now" if stage.now else None,
        )
        for stage in picture.stages
    ]
    decisions = [
        element(
            "li",
            element("small", f"round {number + 1}"),
            element("span", f"{decision.subject}: {decision.kind}{'' if _done(decision) else ' refused'}"),
            element("small", decision.reason),
        )
        for number, decision in picture.decisions
    ]
    parts = [element("ol", *stages, class_="stages")] if stages else [element("p", "No curriculum.", class_="quiet")]
    if decisions:
        parts += [element("h3", "Decided lately"), element("ol", *decisions, class_="decisions")]
    return joined(parts)


def _done(decision: Decision) -> bool:
    """Whether it was not refused; a repair never is."""
    return decision.taken or decision.kind == "repair"
