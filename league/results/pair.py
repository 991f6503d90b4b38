"""Sections of evaluations: of a pair, of a league's main members, of a probe and of a diagnosis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dond_marl.dialogues.human_line import HumanLine, stored_human_line
from dond_marl.game import SEATS
from dond_marl.occupants import short_names
from dond_marl.statistics import Estimate
from league.evaluation.as_json import final_document
from league.evaluation.diagnosis import Diagnosis
from league.evaluation.evaluate import (
    BEST,
    BOTH,
    FAIR,
    FOUND,
    HUMANS,
    NASH,
    VIEWS,
    Evaluation,
    human_figures,
    mean_of_seats,
    ultimatum_seat,
)
from league.evaluation.exploitability import Probe
from league.evaluation.final import FinalEvaluation
from league.evaluation.outcomes import FIGURES, Figures
from league.tables.blocks import (
    Cell,
    Figure,
    Section,
    Table,
    TableRow,
    Unit,
    count_cell,
    number_cell,
    replace_names,
    with_short_names,
)
from league.tables.evaluation import KEY, TITLE, about_people, final_evaluation, names_in
from league.tables.plain import WARNING, in_short
from league.tables.summaries import evaluation_summary, pair_summary

HEADINGS = {BEST: "best response", FOUND: "best found", FAIR: "egalitarian"}


def final_sections(final: FinalEvaluation, *, details: bool = True) -> tuple[Section, ...]:
    """The final evaluation of a league in short, and with ``details`` the tables of its report."""
    document = final_document(final)
    sections = [Section(KEY, TITLE, evaluation_summary(document))]
    if details:
        sections.append(final_evaluation(document, stored_human_line())._replace(title=f"{TITLE}, every figure"))
    return tuple(with_short_names(section, tuple(names_in(document))) for section in sections)


def pair_sections(evaluation: Evaluation, human: HumanLine, *, details: bool = False) -> tuple[Section, ...]:
    """A pair's result in short, counts of its answers, its table and notes; ``details``: every figure as well."""
    names = (evaluation.member, evaluation.against)
    short = short_names(names)
    sections = [*in_short(replace_names(sentence, short) for sentence in pair_summary(evaluation))]
    for name, answers in evaluation.answers.items():
        sentence = replace_names(answers.sentence(name), short)
        warning = f"warning: {sentence}" if answers.left_out else sentence
        sections.append(Section(WARNING if answers.fallbacks else "answers", "", (warning,)))
    main = main_table(evaluation)
    first = Section("evaluation", _describe_games(evaluation), tuple(_notes(evaluation)), (main,))
    sections.append(with_short_names(first, names))
    if details:
        people = human_figures(human)
        tables = tuple(view_table(evaluation, people, view) for view in VIEWS)
        every = Section("details", "every figure", tuple(_notes_of_details(evaluation, human)), tables)
        sections.append(with_short_names(every, names))
    return tuple(sections)


def probe_section(probed: Probe) -> Section:
    """The gain of more information and of better responses, by seat, and the member's worst case."""
    responses = [exploited.response for exploited in probed.exploited]
    rows = {f"best response to {probed.against}": [(value.low, value.high) for value in probed.hidden]}
    if probed.informed is not None:
        rows["  knowing its values"] = [(value.low, value.high) for value in probed.informed]
        rows["  value of information"] = probed.information or []
    rows[f"best response to {probed.member}"] = [(value.low, value.high) for value in responses]
    rows[f"  {probed.member} against itself"] = [(seat.self_play, seat.self_play) for seat in probed.exploited]
    rows["  exploitability"] = [seat.gain for seat in probed.exploited]
    rows |= _equilibrium_rows(probed)
    cells = {label: [_range_figure(*bounds) for bounds in seats] for label, seats in rows.items()}
    table = _table("expected points of ten", [f"as {seat}" for seat in SEATS], cells.items())
    safety = (
        f"safety: {probed.member} scores least against {probed.safety.responder} of the zoo: "
        f"{probed.safety.points:.2f} points of ten, mean of both seats"
    )
    ways = sorted({value.how for value in (*probed.hidden, *responses) if not value.exact})
    notes = (safety, *(f"a range is bounds: {how}" for how in ways), *_of_equilibria(probed))
    section = Section("probe", "what could be gained", notes, (table,))
    return with_short_names(section, (probed.member, probed.against))


def _equilibrium_rows(probed: Probe) -> dict[str, list[tuple[float, float]]]:
    equilibrium, parted = probed.compared, probed.split_gains
    if equilibrium is None or parted is None:
        return {}
    points = {
        f"{probed.member} against an equilibrium": equilibrium.member,
        "  less than an equilibrium there": equilibrium.shortfall,
        f"an equilibrium against {probed.member}": equilibrium.equilibrium,
        "  more than against itself": equilibrium.advantage,
    }
    return {
        "    conceded": list(parted.conceded),
        "    weak": list(parted.weak),
        **{label: [(value, value) for value in pair] for label, pair in points.items()},
    }


def _of_equilibria(probed: Probe) -> Iterator[str]:
    if probed.compared is not None:
        yield (
            "conceded: the seat's gain against the equilibrium of the shipped table, one of many, by demanding it; "
            f"weak: the further gain that {probed.member}'s answers and offers concede"
        )
        if not probed.compared.exact:
            yield f"games of {probed.member} and an equilibrium are played, each scenario once in both seats"


def main_table(evaluation: Evaluation) -> Table:
    """By seat: the member's score, its shares of the best response and of the Nash point, and the partner's score."""
    played, best = evaluation.played.figures, evaluation.best
    rows = {evaluation.member: [Figure(played[view].points) for view in VIEWS]}
    for name, shares in evaluation.shares.items():
        label = f"  share of the {f'{name} point' if name == NASH else name}"
        rows[label] = [Figure(shares[view], "share") for view in VIEWS]
    if best is not None:
        rows[f"{best.name}, in these games"] = [Figure(best.figures[view].points) for view in VIEWS]
    if evaluation.values is not None:
        values = (mean_of_seats(evaluation.values), *evaluation.values)
        rows["best response, expected"] = [_range_figure(value.low, value.high) for value in values]
    rows["the partner's points"] = [Figure(played[view].left) for view in VIEWS]
    return _table(f"points of ten from {evaluation.against}", [BOTH, *(f"as {seat}" for seat in SEATS)], rows.items())


def view_table(evaluation: Evaluation, human: Mapping[str, Figures], view: str) -> Table:
    """Every figure of one view, a column for the member, the best response, each point of reference and people."""
    lines = {line.name if line is not evaluation.played else evaluation.member: line for line in evaluation.lines}
    columns = [*(line.figures[view] for line in lines.values()), human[view]]
    rows = [
        (terms.label, [Figure(getattr(figures, name), _unit(terms.unit)) for figures in columns])
        for name, terms in FIGURES.items()
        if terms.in_seats or view == BOTH
    ]
    for label, name in (("n games", "points"), ("n deals", "points_agreed")):
        rows.append((label, [count_cell(getattr(figures, name).n) for figures in columns]))
    heads = [HEADINGS.get(name, name) for name in (*lines, HUMANS)]
    return _table(view if view == BOTH else f"{evaluation.member} as {view}", heads, rows)


def _table(caption: str, heads: Sequence[str], rows: Iterable[tuple[str, Sequence[Cell]]]) -> Table:
    return Table(caption, tuple(heads), tuple(TableRow(label, tuple(cells)) for label, cells in rows), label="")


def _range_figure(low: float, high: float) -> Figure:
    return number_cell(low) if math.isclose(low, high, abs_tol=5e-7) else Figure(Estimate(math.nan, 0, low, high))


def _unit(text: str) -> Unit:
    return "share" if text.startswith("share") else "points"


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
