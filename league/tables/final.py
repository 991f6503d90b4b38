"""The final evaluation as figures and as a section: mains compared with best responses, self-play and people."""

from __future__ import annotations

import math

from dond_marl.dialogues.human_line import CONFIDENCE, HumanLine, stored_human_line
from dond_marl.game import SEATS
from league.evaluation.evaluate import HUMANS, human_figures
from league.evaluation.exploitability import BEST
from league.evaluation.final import BEST_KNOWN, BOUND, DROP, EXACT, GAIN, PLAYED, REFERENCE, SHARE
from league.evaluation.matches import played_rows
from league.figures.rows import FigureRow, Figures, parse_figures
from league.tables.blocks import Cell, Section, Table, TableRow, align_columns, number_cell, with_short_names

KEY, TITLE = "evaluation", "Held-out evaluation"
FINAL_FILE, FINAL_TABLE = "evaluation.json", "evaluation.csv"
COLUMNS = {  # heading: figure of a player's games, and seat
    "points of ten": ("points", ""),
    **{f"as {seat}": ("points", seat) for seat in SEATS},
    "deals": ("deals", ""),
    "welfare efficiency": ("welfare", ""),
    "Nash efficiency": ("nash", ""),
    "fairness": ("egalitarian", ""),
    "Pareto-optimal of deals": ("pareto", ""),
    "acts": ("turns", ""),
}
SHARES = {  # figure: its label in the summary of a member
    "mean": "share of the references' points, mean",
    "of partners": "  over partners like these",
    "exact": "  where the reference is exact",
    "worst tenth": "  worst tenth of the partners",
}
SPLIT = (
    "Conceded: what a best response to an equilibrium gets in that seat, minus what the member takes there against "
    "itself; it is relative to the equilibrium of the shipped table, and others share otherwise. Weak is the rest: "
    "what the member's own answers and offers give away."
)
PARTS = {"conceded": f"{GAIN}, conceded", "weak": f"{GAIN}, weak"}  # of a best response's gain: the figures' names


def read_final(text: str) -> Figures:
    """The figures of the text of ``evaluation.json``. Raises ``ValueError`` if a field is missing or malformed."""
    return parse_figures(text, lambda figures: final_section(figures, stored_human_line()))


def final_sections(figures: Figures) -> tuple[Section, ...]:
    """The final evaluation of a league in short, and the tables of its report."""
    every = final_section(figures, stored_human_line())._replace(title=f"{TITLE}, every figure")
    sections = (Section(KEY, TITLE, final_summary(figures)), every)
    names = [name for row in figures.rows for name in (row.member, row.against) if name]
    return tuple(with_short_names(section, names) for section in sections)


def final_section(figures: Figures, human: HumanLine) -> Section:
    """The section from the figures of ``evaluation.json``, with those of people for comparison."""
    tables = tuple(table for name in figures.terms["members"] for table in _member_tables(name, figures, human))
    return Section(KEY, TITLE, (*_notes(figures), about_people(human)), tables)


def final_summary(figures: Figures) -> tuple[str, ...]:
    """Outcome of the final evaluation: exploitability of the first main, and its mean and worst held-out share."""
    if not figures.terms["members"]:
        return ()
    name = figures.terms["members"][0]
    sentences = []
    gains = list(figures.select(member=name, against=BEST, figure=GAIN))
    if gains:
        first, second = (gain.high for gain in gains)
        bound = "" if all(gain.note == "exact" for gain in gains) else "at most "
        sentences.append(
            f"A best response to {name} gets {bound}{first:.2f} points more as seat_0, and {bound}{second:.2f} more as "
            f"seat_1, than {name} gets there against itself."
        )
    mean, worst = figures.row(name, "", "proximity, mean"), worst_share(figures, name)
    if worst is not None and mean is not None and not math.isnan(mean.value):
        sentences.append(
            f"Against the held-out members {name} gets {mean.value:.1%} of what a best response would get (mean), "
            f"and least, {worst.value:.1%}, from {worst.against} as {worst.seat}."
        )
    return tuple(sentences)


def worst_share(figures: Figures, member: str) -> FigureRow | None:
    """The smallest share of a reference's points, the first of equals; ``None`` where none is known."""
    rows = [row for row in figures.select(member=member, figure=SHARE) if not math.isnan(row.value)]
    return min(rows, key=lambda row: row.value, default=None)


def people(human: HumanLine) -> Table:
    """The figures of people, as a table of one row."""
    return Table("Figures of people", *align_columns([_human_cells(human)], [HUMANS]), label="who")


def about_people(human: HumanLine) -> str:
    """A note on the data of people and how their games differ."""
    return (
        f"{HUMANS.capitalize()}: {human.perspectives:,} sides of published negotiations, on their own scenarios and by "
        f"talking; seat_0 speaks first; their utterances and the closing selection count as acts; {CONFIDENCE:.0%} "
        f"intervals. {human.source}."
    )


def _notes(figures: Figures) -> tuple[str, ...]:
    scenarios, rules = figures.terms["scenarios"], figures.terms["rules"]
    return (
        f"On {scenarios['source']}: {scenarios['number']:,} scenarios, each in both seats; max_turns "
        f"{rules['max_turns']}, disagree {rules['disagree']}.",
        *(f"{note[0].upper()}{note[1:]}." for note in figures.terms["notes"]),
        "The reference is the most that can be earned from the same partner in the same seat: the exact best "
        "response, or (at most) a certified upper bound, for which the share is at most the true one; no member of "
        "this league is a reference. Best known: what the response stored with the bound earns or, without a bound, "
        "the most that a scripted partner or a response by the partner's odds earns in the same games. Worst tenth: "
        "of the partners, at least one. Gain: an exploiter's points minus what the member gets against itself in that "
        "seat; drop: what the member gets from its held-out opponents minus what it gets from the exploiter.",
        f"Intervals are {figures.terms['confidence']:.0%}, over scenarios; n counts games (against itself and for "
        f"people: sides of games). Points of reference are what the same scenarios pay at the split of that name.",
    )


def _member_tables(name: str, figures: Figures, human: HumanLine) -> list[Table]:
    lines = {f"{name}, against itself": (name, name)}
    lines |= {reference: (reference, "") for reference in figures.terms["points_of_reference"]}
    cells = [_played_cells(figures, *pair) for pair in lines.values()]
    compared = align_columns([*cells, _human_cells(human)], [*lines, HUMANS])
    return [
        _summary_table(name, figures),
        _opponents_table(name, figures),
        Table(f"{name} against itself, with points of reference and people", *compared, label="who"),
        _exploiters_table(name, figures),
    ]


def _summary_table(name: str, figures: Figures) -> Table:
    kinds = [row.note for row in figures.select(member=name, figure=REFERENCE)]
    shares = {share: label for share, label in SHARES.items() if share != "exact" or set(kinds) != {EXACT}}
    rows = [TableRow(label, (figures.cell(name, "", f"proximity, {share}"),)) for share, label in shares.items()]
    if (worst := worst_share(figures, name)) is not None:
        rows.append(TableRow(f"  worst: {worst.against}, as {worst.seat}", (worst.cell,)))
    rows.append(TableRow("references that are exact", (f"{kinds.count(EXACT)} of {len(kinds)}",)))
    if "exact" in shares:
        rows.append(TableRow("references that are upper bounds", (f"{kinds.count(BOUND)} of {len(kinds)}",)))
    rows.append(TableRow("agreement", (figures.cell(name, "", "agreement"),)))
    rows.append(TableRow("welfare efficiency", (figures.cell(name, "", "welfare"),)))
    return Table(f"{name} against all held-out members", ("value",), tuple(rows), label="figure")


def _opponents_table(name: str, figures: Figures) -> Table:
    """Points and shares of the reference per opponent, worst share first."""
    rows: dict[str, dict[str, Cell]] = {}
    means: dict[str, float] = {}  # of the shares in both seats
    for opponent in figures.opponents(name, SHARE):
        rows[opponent] = {
            "points of ten": figures.cell(name, opponent, "points"),
            **{f"as {seat}": figures.cell(name, opponent, "points", seat) for seat in SEATS},
            **{f"best response as {seat}": _reference_cell(figures, name, opponent, seat) for seat in SEATS},
            **{f"share as {seat}": figures.cell(name, opponent, SHARE, seat) for seat in SEATS},
            "deals": figures.cell(name, opponent, "deals"),
            **{f"best known as {seat}": _best_known_cell(figures, name, opponent, seat) for seat in SEATS},
        }
        values = [figures.estimate(name, opponent, SHARE, seat).mean for seat in SEATS]
        defined = [value for value in values if not math.isnan(value)]
        means[opponent] = sum(defined) / len(defined) if defined else math.inf
    ordered = sorted(rows, key=lambda opponent: means[opponent])
    columns = align_columns([rows[opponent] for opponent in ordered], ordered)
    return Table(f"{name} against each", *columns, label="against")


def _reference_cell(figures: Figures, name: str, opponent: str, seat: str) -> Cell:
    row = figures.row(name, opponent, REFERENCE, seat)
    if row is None or math.isnan(row.high):
        return None
    return number_cell(row.high) if row.note == EXACT else f"at most {row.high:.2f}"


def _best_known_cell(figures: Figures, name: str, opponent: str, seat: str) -> Cell:
    """The most points of any known policy in one seat, and its name; empty where the reference is exact."""
    row = figures.row(name, opponent, BEST_KNOWN, seat)
    return None if row is None else f"{row.value:.2f}, {row.note}"


def _human_cells(human: HumanLine) -> dict[str, Cell]:
    rows = (row for row in played_rows(HUMANS, "", human_figures(human), PLAYED) if not math.isnan(row.value))
    return _played_cells(Figures({}, tuple(rows)), HUMANS, "")


def _played_cells(figures: Figures, member: str, against: str) -> dict[str, Cell]:
    return {heading: figures.cell(member, against, *column) for heading, column in COLUMNS.items()}


def _exploiters_table(name: str, figures: Figures) -> Table:
    """Gain of each exploiter by its seat, and drop of the member by the member's seat."""
    columns = {
        f"{short} as {seat}": (figure, seat) for short, figure in ((GAIN, GAIN), ("drop", DROP)) for seat in SEATS
    }
    exploiters = figures.opponents(name, GAIN)
    lines = [("best response, under the whole prior", BEST, columns)] if BEST in exploiters else []
    for part, figure in PARTS.items():
        if figures.row(name, BEST, figure, SEATS[0]) is not None:
            lines.append((f"  {part}", BEST, {f"{GAIN} as {seat}": (figure, seat) for seat in SEATS}))
    lines += [(exploiter, exploiter, columns) for exploiter in exploiters if exploiter != BEST]
    rows = tuple(
        TableRow(label, tuple(figures.cell(name, against, *keys[head]) if head in keys else None for head in columns))
        for label, against, keys in lines
    )
    note = SPLIT if any(figures.select(figure=PARTS["weak"])) else ""
    return Table(f"Exploitability of {name}, points of ten", tuple(columns), rows, label="exploiter", note=note)
