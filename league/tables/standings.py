"""Sections of a league's standings: ladder, cross-play, learning curves, meta-game; and its outcome in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from dond_marl.game import SEATS
from league.figures.rows import Figure, FigureRow, Figures
from league.play.values import Member, cause_phrases
from league.standings.crossplay import CrossPlay
from league.standings.findings import LEAST_SHARE, NASH, RATINGS, WELFARE
from league.standings.history import CurvePoint
from league.standings.ladder import Standing
from league.tables.blocks import (
    Cell,
    Curves,
    Section,
    Table,
    TableRow,
    align_columns,
    count_cell,
    number_cell,
)
from league.tables.figures import count_noun, format_number, with_margin

ANSWERED_HEADING = "answered"  # heading of the ladder's column of valid answers
META_GAME_KEY, META_GAME_TITLE = "meta-game", "Meta-game"
MIXTURES = (WELFARE, NASH)
SHORT_COLUMNS = (
    "points of ten",
    "Elo",
    "of response",
    "as seat_0",
    "as seat_1",
    "deals",
    ANSWERED_HEADING,
    "failed matches",
)
MOST_CELLS = 60  # members across the cross-play table
SHORT_ROWS = 15  # of the ladder that a league ends with
SAMPLED = (
    "Learners and their snapshots sample their actions in these games, as in practice; others play as their spec says. "
    "In the held-out evaluation they play their likeliest actions (greedy)."
)
TRUST_NOTES = (
    "The ladder is a mean: a member's points against every other member with equal weight, in both seats. Use it for "
    "performance in this population. Members with many near-copies in the league count many times, and one member "
    "that exploits the first hardly shows.",
    "The meta-game gives the members that would still be chosen if both seats chose among these members, each for its "
    "own points. Use it for what persists when opponents respond: copies and weak opponents change nothing. It need "
    "not be desirable: the seat with the last offer that can be answered may take nearly all, and a mixture that ends "
    "there pays one seat much and the other little.",
    "So they may disagree, and neither is wrong. For partners that are in neither, use the held-out evaluation.",
)


def ladder(
    standings: Sequence[Standing],
    members: Sequence[Member],
    confidence: float,
    responses: int,
    models: Collection[str] = (),
    curves: Sequence[CurvePoint] = (),
    *,
    learns: bool = False,
    details: bool = True,
) -> Section:
    """The ladder: every member's points against all others, best first.

    Parameters
    ----------
    members
        all members, for their roles
    responses
        number of members to which an exact best response is known
    models
        members that are expensive to query; their share of answers is shown even when it is complete
    curves
        of the learners: what the best responses to them gain is a note, as they are no rows
    learns
        whether the league has learners: adds the note on sampled actions
    details
        every column, row and note; otherwise :data:`SHORT_COLUMNS` of the first :data:`SHORT_ROWS` members
    """
    opponents = "all other members" if len(standings) > 1 else "itself, its only opponent,"
    most = max((row.points.n for row in standings), default=0)
    table = ladder_table(standings, {member.name: member.role.replace("_", " ") for member in members}, models)
    notes = [
        f"Own points of ten, tenths of what the whole pool is worth to the seat, over {opponents} in both seats; "
        f"no deal is 0. Intervals are {confidence:.0%}, over scenarios."
    ]
    if responses:
        notes.append(
            "Of response: own points as a share of the exact best response's, against the members to which that is "
            f"known ({responses} of {len(standings)})."
        )
    if details:
        notes.append(
            "Elo: by games won, in which a member got more of its whole than the other; a draw is half a win, and 1500 "
            "the mean member. Points are what counts."
        )
        notes.append(
            "Of Nash: as a share of the points at the Nash points of the same scenarios. Figures without an interval "
            f"are plain means. Games that learners played before they last changed count less, so n, at most {most:,}, "
            "falls short of the games that they played."
        )
    wrong = [row.member for row in standings if row.impossible]
    if wrong:
        notes.append(f"Joint scores above the largest possible, a bug: {', '.join(wrong)}.")
    notes += [
        f"{row.member} has no rank: {row.unranked_because}." for row in standings if row.failed and not row.has_rank
    ]
    notes += gains_in_words(curves)
    if not details:
        if len(standings) > SHORT_ROWS:
            live = {member.name for member in members if member.live}
            learners = [
                f"; {row.member} is {place} of {len(standings)} with {format_number(row.points.mean)}"
                for place, row in enumerate(standings[SHORT_ROWS:], start=SHORT_ROWS + 1)
                if row.member in live
            ]
            notes.append(f"{len(standings) - SHORT_ROWS:,} more members are in ladder.csv{''.join(learners)}.")
        return Section("ladder", "Ladder", tuple(notes), (short_ladder(table),))
    if learns:
        notes.append(SAMPLED)
    if ANSWERED_HEADING in table.heads:
        notes.append(
            "Answered: the member's own decisions, of all for which it was queried in matches; a fallback made the "
            "others. A game in which a member was not reached enters no figure, and a match with too many of them "
            "(league.unreached) fails."
        )
    return Section("ladder", "Ladder", tuple(notes), (table,))


def members_in_words(members: Iterable[Member]) -> tuple[Table, ...]:
    """A table of best responses and generated partners in words; none without such members."""
    described = [member for member in members if member.role != "snapshot" and member.description]
    rows = tuple(TableRow(member.name, (member.description,)) for member in described)
    return (Table("Members in words", ("what it does",), rows, "member"),) if rows else ()


def short_ladder(table: Table, most: int = SHORT_ROWS) -> Table:
    """The ladder's :data:`SHORT_COLUMNS` and its first rows."""
    shown = [index for index, head in enumerate(table.heads) if head in SHORT_COLUMNS]
    rows = (row._replace(cells=tuple(row.cells[index] for index in shown)) for row in table.rows[:most])
    return table._replace(heads=tuple(table.heads[index] for index in shown), rows=tuple(rows))


def gains_in_words(curves: Sequence[CurvePoint]) -> list[str]:
    """A sentence for each learner: gains of the newest and the first best response to it over its self-play."""
    known: dict[str, list[CurvePoint]] = {}
    for point in curves:
        if point.gain.n:
            known.setdefault(point.member, []).append(point)
    return [
        f"The newest best response to {name}, which knows its weights, gains {with_margin(points[-1].gain)} over "
        f"{name}'s self-play"
        + (f"; that after {count_noun(points[0].round, 'round')} {with_margin(points[0].gain)}." if points[1:] else ".")
        for name, points in known.items()
    ]


def ladder_table(
    standings: Sequence[Standing],
    roles: Mapping[str, str] = MappingProxyType({}),
    models: Collection[str] = (),
) -> Table:
    """The table of the ladder; ``roles``: by member; ``models``: as in :func:`ladder`."""
    failed = any(row.failed for row in standings)
    rows: list[dict[str, Cell]] = [
        {
            "points of ten": Figure(row.points),
            "of response": Figure(row.of_response, "share"),
            "of Nash": Figure(row.of_nash, "share"),
            "Elo": Figure(row.elo, "Elo"),
            "as seat_0": Figure(row.as_seat[0]),
            "as seat_1": Figure(row.as_seat[1]),
            "left to partner": number_cell(row.left, n=row.points.n),
            "deals": number_cell(row.deals, "share", row.points.n),
            "own where agreed": number_cell(row.agreed, n=round(row.points.n * row.deals) if row.points.n else 0),
            "acts per game": number_cell(row.turns, "acts", row.points.n),
            "against itself": Figure(row.self_play),
            ANSWERED_HEADING: answer_count(row, models),
            "failed matches": count_cell(row.failed) if failed else None,
            "role": roles.get(row.member),
        }
        for row in standings
    ]
    return Table("Best own points first", *align_columns(rows, [row.member for row in standings]), kind="ladder")


def answer_count(row: Standing, models: Collection[str]) -> str | None:
    """Own decisions of all decisions: ``30 of 34 (not reached 4)``.

    ``None`` for a member that is not in ``models`` and made every decision itself.
    """
    answers = row.answers
    if not answers.fallbacks and row.member not in models:
        return None
    causes = ", ".join(cause_phrases(answers))
    return f"{answers.own_decisions:,} of {answers.decisions:,}" + (f" ({causes})" if causes else "")


def crossplay(cross: CrossPlay, standings: Sequence[Standing], confidence: float) -> Section:
    """The cross-play table: points of each member against each other, in the ladder's order, of the best at most."""
    names = tuple(row.member for row in standings[:MOST_CELLS])
    rows = tuple(TableRow(row, tuple(Figure(cross.cell(row, column, confidence)) for column in names)) for row in names)
    empty = sum(not cell.is_known for row in rows for cell in row.cells if isinstance(cell, Figure))
    more = len(standings) - len(names)
    notes = (
        "Points of ten of the row against the column, mean of both seats; rows and columns in the ladder's order. "
        f"Intervals are {confidence:.0%}, over scenarios.",
        *((f"The best {MOST_CELLS} of {len(standings)} members; crossplay.csv has all.",) if more else ()),
        *((f"{empty:,} of {len(names) ** 2:,} cells were not played.",) if empty else ()),
    )
    return Section("crossplay", "Cross-play", notes, (Table("Points of ten", names, rows, kind="heat"),))


def learning(curves: Sequence[CurvePoint], learners: Sequence[str], confidence: float) -> Section:
    """Learning curves of all learners by round; a note without them if there are none."""
    if not curves:
        reason = "no learner has played a fixed member yet" if learners else "no learners"
        return Section("learning", "Learning curves", (f"None: {reason}.",))
    note = (
        "By rounds of practice: points of ten from all fixed members, mean of both seats; and what the newest best "
        "response, which knows the learner's weights, gains in its matches over the learner's points against itself. A "
        "response to likeliest acts is exact against these alone; the learner samples in matches, so an exact response "
        f"to it gains at least as much. Bands are {confidence:.0%} intervals over scenarios. A line that starts again "
        "shows a learner that was restarted."
    )
    return Section("learning", "Learning curves", (note,), (Curves(tuple(curves), confidence),))


def meta_game(findings: Figures) -> Section:
    """The meta-game section: ratings, and the stable mixtures of members, from the figures of ``meta_game.json``.

    Figures are over the games of the payoff table, in which a learner's earlier rounds count less.
    """
    terms = findings.terms
    predicted = 1 - float(terms["cells_played"])
    notes = [
        "Take, give: how many more points of ten a member gets than others do, and others get from it; members that "
        "play alike count as one. Deviation: what a player would gain by switching to the member in the strictest "
        "equilibrium, at most 0; duplicates of a member change no rating.",
        "CCE: a coarse correlated equilibrium, in which no player gains by committing to a member beforehand. The "
        "regret gap is how much could still be gained.",
        f"Intervals are {terms['confidence']:.0%}, over scenarios, {terms['replicates']} replicates; n counts "
        f"the games of the payoff table, in which earlier rounds of learners have less weight.",
    ]
    notes += [f"{predicted:.0%} of the cells were not played and are predicted."] if predicted else []
    tables = (_ratings_table(findings), _values_table(findings), _shares_table(findings))
    return Section(META_GAME_KEY, META_GAME_TITLE, tuple(notes), tables)


def _ratings_table(findings: Figures) -> Table:
    names = [row.member for row in sorted(findings.select(figure="take"), key=lambda row: -row.value)]
    rows = [{" as ".join(filter(None, key)): findings.cell(name, "", *key) for key in RATINGS} for name in names]
    return Table("Ratings, most taken first", *align_columns(rows, names))


def _values_table(findings: Figures) -> Table:
    keys = {**{seat: ("value", seat) for seat in SEATS}, "both": ("welfare", ""), "regret gap": ("regret gap", "")}
    rows = (TableRow(name, tuple(findings.cell(name, "", *key) for key in keys.values())) for name in MIXTURES)
    return Table("What each mixture pays", tuple(keys), tuple(rows), label="mixture")


def _shares_table(findings: Figures) -> Table:
    shares: dict[str, dict[str, Cell]] = {}
    totals: dict[str, float] = {}
    by_member: dict[str, list[FigureRow]] = {}
    for row in findings.select(figure="share"):
        by_member.setdefault(row.member, []).append(row)
    for member, rows in by_member.items():
        if any(row.value >= LEAST_SHARE for row in rows):
            shares[member] = {f"{row.against}, {row.seat}": row.cell for row in rows}
            totals[member] = sum(row.value for row in rows)
    ordered = sorted(shares, key=lambda member: -totals[member])
    caption = f"Share of each member in the mixtures (from {LEAST_SHARE:.1%})"
    return Table(caption, *align_columns([shares[member] for member in ordered], ordered))


def trust(standings: Sequence[Standing], findings: Figures | None, mains: Sequence[str]) -> Section:
    """Ladder and meta-game compared: the ladder's first, the ``mains`` and the heaviest member of each mixture.

    ``findings``: ``None`` if there are none.
    """
    key, title = "trust", "Ladder or meta-game"
    ranked = [row for row in standings if row.has_rank]
    if findings is None or not ranked:
        return Section(key, title, TRUST_NOTES)
    ranks = {row.member: rank for rank, row in enumerate(ranked, start=1)}
    first = ranked[0]
    columns = [(name, seat) for name in MIXTURES for seat in SEATS]
    shares = [list(findings.select(against=name, figure="share", seat=seat)) for name, seat in columns]
    heaviest = [max(column, key=lambda row: (row.value, row.member)).member for column in shares if column]
    rows = []
    for name in (name for name in dict.fromkeys((first.member, *mains, *heaviest)) if name in ranks):
        standing = ranked[ranks[name] - 1]
        weights = (findings.cell(name, mixture, "share", seat) for mixture, seat in columns)
        points = map(Figure, (standing.points, *standing.as_seat))
        rows.append(TableRow(name, (count_cell(ranks[name]), *points, *weights)))
    heads = ("ladder's place", "points", *(f"as {seat}" for seat in SEATS), *map(", ".join, columns))
    return Section(key, title, (_comparison(first, findings), *TRUST_NOTES), (Table("By both", heads, tuple(rows)),))


def _comparison(first: Standing, findings: Figures) -> str:
    pays = " and ".join(f"{findings.estimate(NASH, '', 'value', seat).mean:.2f} as {seat}" for seat in SEATS)
    shares = {seat: findings.estimate(first.member, NASH, "share", seat).mean for seat in SEATS}
    plays = " and ".join(f"{share:.0%} of {seat}'s" for seat, share in shares.items())
    return (
        f"The ladder's first, {first.member}, gets {first.as_seat[0].mean:.2f} points of ten as {SEATS[0]} and "
        f"{first.as_seat[1].mean:.2f} as {SEATS[1]} from all others. In the Nash-bargaining CCE "
        f"a member gets {pays}; {first.member} plays {plays} games there."
    )


def practice_warning(without: Mapping[str, int]) -> str | None:
    """The learners that learned nothing in some rounds, ``without`` their numbers; ``None`` if there are none."""
    if not without:
        return None
    warnings = (f"{name} learned nothing in {rounds:,} round{'s' * (rounds > 1)}" for name, rounds in without.items())
    return f"{'; '.join(warnings)}: the practice could not be finished."
