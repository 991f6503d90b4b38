"""Sections of evaluations: of a pair, of a league's main members, of a probe and of a diagnosis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from dond_marl.dialogues.human_line import HumanLine, stored_human_line
from dond_marl.game import SEATS
from dond_marl.occupants import short_names
from league.evaluation.diagnosis import Diagnosis
from league.evaluation.evaluate import (
    BEST,
    BOTH,
    FAIR,
    HUMANS,
    NASH,
    Evaluation,
    mean_of_seats,
    ultimatum_seat,
)
from league.evaluation.exploitability import FOUND, Probe
from league.evaluation.final import FinalEvaluation
from league.figures.measures import FIGURES
from league.tables.blocks import (
    Cell,
    Figure,
    Section,
    Table,
    TableRow,
    count_cell,
    number_cell,
    replace_names,
    with_short_names,
)
from league.tables.final import KEY, TITLE, about_people, final_figures, final_section, final_summary, names_in
from league.tables.pair import (
    COMPARED,
    EXPLOITABILITY,
    INFORMATION,
    INFORMED,
    SELF_PLAY,
    VALUE,
    pair_figures,
    probe_rows,
    share_of,
)
from league.tables.plain import WARNING, in_short
from league.tables.rows import Figures
from league.tables.summaries import pair_summary

HEADINGS = {BEST: "best response", FOUND: "best found", FAIR: "egalitarian"}


def final_sections(final: FinalEvaluation, *, details: bool = True) -> tuple[Section, ...]:
    """The final evaluation of a league in short, and with ``details`` the tables of its report."""
    figures = final_figures(final)
    sections = [Section(KEY, TITLE, final_summary(figures))]
    if details:
        sections.append(final_section(figures, stored_human_line())._replace(title=f"{TITLE}, every figure"))
    return tuple(with_short_names(section, tuple(names_in(figures))) for section in sections)


def pair_sections(evaluation: Evaluation, human: HumanLine, *, details: bool = False) -> tuple[Section, ...]:
    """A pair's result in short, counts of its answers, its table and notes; ``details``: every figure as well."""
    names = (evaluation.member, evaluation.against)
    short = short_names(names)
    sections = [*in_short(replace_names(sentence, short) for sentence in pair_summary(evaluation))]
    for name, answers in evaluation.answers.items():
        sentence = replace_names(answers.sentence(name), short)
        warning = f"warning: {sentence}" if answers.left_out else sentence
        sections.append(Section(WARNING if answers.fallbacks else "answers", "", (warning,)))
    figures = pair_figures(evaluation, human)
    notes = tuple(_notes(evaluation))
    first = Section("evaluation", _describe_games(evaluation), notes, (main_table(figures, evaluation),))
    sections.append(with_short_names(first, names))
    if details:
        tables = tuple(view_table(figures, evaluation, seat) for seat in ("", *SEATS))
        every = Section("details", "every figure", tuple(_notes_of_details(evaluation, human)), tables)
        sections.append(with_short_names(every, names))
    return tuple(sections)


def probe_section(probed: Probe) -> Section:
    """The gain of more information and of better responses, by seat, and the member's worst case."""
    figures, member, against = Figures({}, tuple(probe_rows(probed))), probed.member, probed.against
    lines = {
        f"best response to {against}": (BEST, against, VALUE),
        "  knowing its values": (BEST, against, INFORMED),
        "  value of information": (BEST, against, INFORMATION),
        f"best response to {member}": (BEST, member, VALUE),
        f"  {member} against itself": (member, member, SELF_PLAY),
        "  exploitability": (member, BEST, EXPLOITABILITY),
        "    conceded": (member, BEST, f"{EXPLOITABILITY}, conceded"),
        "    weak": (member, BEST, f"{EXPLOITABILITY}, weak"),
        f"{member} against an equilibrium": (member, "", COMPARED["member"]),
        "  less than an equilibrium there": (member, "", COMPARED["shortfall"]),
        f"an equilibrium against {member}": (member, "", COMPARED["equilibrium"]),
        "  more than against itself": (member, "", COMPARED["advantage"]),
    }
    known = {label: key for label, key in lines.items() if figures.row(*key, SEATS[0]) is not None}
    table = _table(
        "expected points of ten",
        [f"as {seat}" for seat in SEATS],
        ((label, [figures.cell(*key, seat) for seat in SEATS]) for label, key in known.items()),
    )
    safety = (
        f"safety: {member} scores least against {probed.safety.responder} of the zoo: "
        f"{probed.safety.points:.2f} points of ten, mean of both seats"
    )
    responses = (*probed.hidden, *(exploited.response for exploited in probed.exploited))
    ways = sorted({value.how for value in responses if not value.exact})
    notes = (safety, *(f"a range is bounds: {how}" for how in ways), *_of_equilibria(probed))
    return with_short_names(Section("probe", "what could be gained", notes, (table,)), (member, against))


def _of_equilibria(probed: Probe) -> Iterator[str]:
    if probed.compared is not None:
        yield (
            "conceded: the seat's gain against the equilibrium of the shipped table, one of many, by demanding it; "
            f"weak: the further gain that {probed.member}'s answers and offers concede"
        )
        if not probed.compared.exact:
            yield f"games of {probed.member} and an equilibrium are played, each scenario once in both seats"


def main_table(figures: Figures, evaluation: Evaluation) -> Table:
    """By seat: the member's score, its shares of the best response and of the Nash point, and the partner's score."""
    member, best = evaluation.member, evaluation.best
    lines = {member: (member, "points")}
    for name in evaluation.shares:
        lines[f"  share of the {f'{name} point' if name == NASH else name}"] = (member, share_of(name))
    if best is not None:
        lines[f"{best.name}, in these games"] = (best.name, "points")
    if evaluation.values is not None:
        lines["best response, expected"] = (BEST, VALUE)
    lines["the partner's points"] = (member, "left")
    rows = (
        (label, [figures.cell(name, evaluation.against, figure, seat) for seat in ("", *SEATS)])
        for label, (name, figure) in lines.items()
    )
    return _table(f"points of ten from {evaluation.against}", [BOTH, *(f"as {seat}" for seat in SEATS)], rows)


def view_table(figures: Figures, evaluation: Evaluation, seat: str) -> Table:
    """Every figure of one seat, or of both (empty): a column for the member, each reference and people."""
    names = [evaluation.member, *(line.name for line in evaluation.lines[1:])]
    pairs = [*((name, evaluation.against) for name in names), (HUMANS, "")]
    rows: list[tuple[str, Sequence[Cell]]] = [
        (terms.label, [figures.cell(*pair, name, seat) for pair in pairs])
        for name, terms in FIGURES.items()
        if terms.in_seats or not seat
    ]
    for label, name in (("n games", "points"), ("n deals", "points_agreed")):
        counted = (figures.row(*pair, name, seat) for pair in pairs)
        rows.append((label, [None if row is None else count_cell(row.n) for row in counted]))
    heads = [HEADINGS.get(name, name) for name in (*names, HUMANS)]
    return _table(f"{evaluation.member} as {seat}" if seat else BOTH, heads, rows)


def _table(caption: str, heads: Sequence[str], rows: Iterable[tuple[str, Sequence[Cell]]]) -> Table:
    return Table(caption, tuple(heads), tuple(TableRow(label, tuple(cells)) for label, cells in rows), label="")


def _describe_games(evaluation: Evaluation) -> str:
    rules, scenarios = evaluation.rules, evaluation.scenarios.size
    return (
        f"{evaluation.member} against {evaluation.against} on {evaluation.source.label}: {scenarios:,} scenarios, each "
        f"in both seats; max_turns {rules.max_turns}, disagree {rules.disagree}, seed {evaluation.seed}"
    )


def _notes(evaluation: Evaluation) -> Iterator[str]:
    yield from (f"{_as_sentence(note)}." for note in evaluation.notes)
    yield (
        f"Points of ten: a seat's score in tenths of what all items are worth to it. No deal counts 0. "
        f"± is half of the {evaluation.confidence:.0%} interval over scenarios."
    )
    if evaluation.values is not None:
        value = mean_of_seats(evaluation.values)
        yield (
            f"Best response: the policy with the highest score that knows the policy of {evaluation.against}, but not "
            f"its values. Expected: its mean over all scenarios of {evaluation.source.prior}, "
            f"{'exact' if value.exact else 'within bounds'} ({value.how}). In these games it may score more or "
            f"less."
        )
    yield "Nash point: the split with the largest product of both seats' points. Shares are of the same games."


def _as_sentence(note: str) -> str:
    """The note with a capital first letter, unless it begins with a name."""
    return note[0].upper() + note[1:] if note.startswith(("no ", "what ", "the ")) else note


def _notes_of_details(evaluation: Evaluation, human: HumanLine) -> Iterator[str]:
    yield (
        "Welfare efficiency, Nash efficiency and fairness: the sum, the product and the smaller of both seats' points, "
        "each divided by the largest that any split of the scenario gives. No deal counts 0."
    )
    yield "Pareto-optimal: a deal in which neither seat could have more without the other having less."
    last = ultimatum_seat(evaluation.rules)
    ultimatum = "" if last is None else f", ultimatum the best for {SEATS[last]}, whose offer is answered last"
    yield (
        "Columns of one split, chosen with both seats' values known, in every game: Nash has the largest product of "
        "points, utilitarian the largest sum, egalitarian (max-min, in these games Kalai and Smorodinsky's too) the "
        f"largest smaller share{ultimatum}. Where several splits are equally good, their mean is shown. Deals at one "
        "of these: the share of deals at such a split."
    )
    yield about_people(human)


def diagnosis_section(found: Diagnosis) -> Section:
    """A diagnosis as tables with notes."""
    by_act = {name: (count_cell(number), number_cell(lost)) for name, (number, lost) in found.by_act.items()}
    tables = [
        _table("in all", ("value",), [(name, (cell,)) for name, cell in _diagnosis_totals(found).items()]),
        _table("by act", ("decisions", "regret of each"), by_act.items()),
    ]
    if found.demanded:
        offers = {f"decision {turn + 1}": (count_cell(of.n), Figure(of)) for turn, of in found.demanded if of.n}
        tables.append(_table("what its offers keep", ("offers", "share of its own points"), offers.items()))
    return Section("diagnosis", "Diagnosis", tuple(_diagnosis_notes(found)), tuple(tables))


def _diagnosis_totals(found: Diagnosis) -> dict[str, Cell]:
    rows: dict[str, Cell] = {"own points of ten, a game": Figure(found.points)}
    if found.lost is not None:
        rows["regret of its acts, a game"] = Figure(found.lost)
        rows["of the exact best response"] = number_cell(found.share, "share")
    rows["a second copy, more or less"] = Figure(found.noise)
    if of := found.answers:
        tokens = f"{of['prompt_tokens']:,.0f} and {of['completion_tokens']:,.0f}"
        rows["legal decisions of its own"] = number_cell(of["legal"], "share")
        rows["re-asks, a game"] = number_cell(of["re_asks"])
        rows["tokens read and written, a game"] = (
            "not known: a cache answered" if math.isnan(of["prompt_tokens"]) else tokens
        )
        rows["dollars, a game"] = "not known" if math.isnan(of["dollars"]) else f"{of['dollars']:.5f}"
    return rows


def _diagnosis_notes(found: Diagnosis) -> Iterator[str]:
    yield f"{found.member} against {found.against}, {found.games:,} games; points are points of ten."
    if found.note:
        yield f"{found.note[0].upper()}{found.note[1:]}."
    if found.lost is not None:
        yield "The regret of its acts in a game is, on average, the exact best response's score minus its own."
    yield "A second run plays the same scenarios with other random draws: smaller differences are noise."
