"""Evaluations as figures and as sections: of a pair, of a probe and of a diagnosis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from dond_marl.dialogues.human_line import HumanLine
from dond_marl.game import SEATS
from dond_marl.occupants import short_names
from league.evaluation.diagnosis import Diagnosis
from league.evaluation.evaluate import FAIR, HUMANS, NASH, Evaluation, human_figures, mean_of_seats, ultimatum_seat
from league.evaluation.exploitability import (
    BEST,
    COMPARED,
    EXPLOITABILITY,
    FOUND,
    INFORMATION,
    INFORMED,
    SAFETY,
    SELF_PLAY,
    VALUE,
)
from league.evaluation.matches import BOTH, PlayerLine, UnreachedError, played_rows
from league.figures.measures import FIGURES, score_pairs
from league.figures.rows import Figure, FigureRow, Figures, bounded_row, figure_row
from league.play.values import Answers
from league.tables.blocks import (
    Cell,
    Section,
    Table,
    TableRow,
    count_cell,
    number_cell,
    replace_names,
    with_short_names,
)
from league.tables.figures import with_margin
from league.tables.final import about_people
from league.tables.plain import WARNING, in_short

SMALL_GAP = 0.005  # points of ten; smaller losses are not reported

HEADINGS = {BEST: "best response", FOUND: "best found", FAIR: "egalitarian"}


def share_of(reference: str) -> str:
    """The name of a figure: own points as a share of a reference's."""
    return f"share of {reference}"


def pair_figures(evaluation: Evaluation, human: HumanLine) -> Figures:
    """The evaluation of a pair as rows: of the member, the best response, points of reference and people."""
    terms = {
        "member": evaluation.member,
        "against": evaluation.against,
        **evaluation.terms.document(),
        "notes": list(evaluation.notes),
        "units": {figure: described.unit for figure, described in FIGURES.items()},
        "splits": {  # own points, the partner's, games
            seat: [[*pair, number] for pair, number in zip(*(a.tolist() for a in score_pairs(points)), strict=True)]
            for seat, points in zip(SEATS, evaluation.played.outcomes, strict=True)
        },
        "humans": {"source": human.source, "sides": human.perspectives},
    }
    return Figures(terms, tuple(_pair_rows(evaluation, human)))


def _pair_rows(evaluation: Evaluation, human: HumanLine) -> Iterator[FigureRow]:
    member, against = evaluation.member, evaluation.against
    for line in evaluation.lines:
        name = member if line is evaluation.played else line.name
        yield from played_rows(name, against, line.figures)
    yield from played_rows(HUMANS, "", human_figures(human))
    for reference, shares in evaluation.shares.items():
        for view, estimate in shares.items():
            seat = "" if view == BOTH else view
            yield figure_row(member, against, share_of(reference), seat, estimate, "share")
    if evaluation.values is not None:
        values = (mean_of_seats(evaluation.values), *evaluation.values)
        for seat, value in zip(("", *SEATS), values, strict=True):
            yield bounded_row(BEST, against, VALUE, seat, value.low, value.high, exact=value.exact)
    for name, answers in evaluation.answers.items():
        yield from _answer_rows(name, answers)


def _answer_rows(name: str, answers: Answers) -> Iterator[FigureRow]:
    """Counts of a player's decisions, by cause where a fallback made them, and of the games left out."""
    document = answers.document()
    counts = {"asked": document["asked"], "answered": document["answered"], **document["causes"]}
    for key, number in counts.items():
        yield _count(name, f"decisions, {key}", number, document["asked"])
    yield _count(name, "games left out", document["games_left_out"], document["games"])


def _count(member: str, figure: str, number: int, total: int) -> FigureRow:
    return FigureRow(member, "", figure, "", float(number), math.nan, math.nan, total, "count")


def refused_figures(member: str, against: str, error: UnreachedError) -> Figures:
    """A refused evaluation: the reason among the terms, and the counts of both players' decisions as rows."""
    rows = tuple(row for name, answers in error.answers.items() for row in _answer_rows(name, answers))
    return Figures({"member": member, "against": against, "refused": str(error)}, rows)


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


def pair_summary(evaluation: Evaluation) -> tuple[str, ...]:
    """Outcome of one pair: points, share of the best response's points, deals, and where the difference is lost."""
    played, best = evaluation.played.figures[BOTH], evaluation.best
    member, against = (
        f"{name} ({evaluation.protocols[name]})" if name in evaluation.protocols else name
        for name in (evaluation.member, evaluation.against)
    )
    answers = evaluation.answers.get(evaluation.member)
    if answers is not None and answers.decisions and not answers.own_decisions:  # the points are the fallback's
        return (f"{member} has no points against {against}: it made none of its {answers.decisions:,} decisions.",)
    earned = f"{member} gets {with_margin(played.points)} points of ten from {against}"
    if best is not None:
        reference = "the exact best response gets" if best.name == BEST else "the best response that was found gets"
        earned += f", {with_margin(evaluation.shares[best.name][BOTH], 'share')} of what {reference} in the same games"
    pareto = "" if math.isnan(played.pareto.mean) else f", {played.pareto.mean:.1%} of them Pareto-optimal"
    sentences = (f"{earned}.", f"It closes a deal in {played.deals.mean:.1%} of its games{pareto}.")
    if best is None:
        return sentences
    loss = _loss_sentence(evaluation.played, best)
    against_itself = evaluation.member == evaluation.against
    return (*sentences, loss, *([_adversary_sentence(evaluation.played, best)] if against_itself else []))


def _adversary_sentence(played: PlayerLine, best: PlayerLine) -> str:
    gain = sum(_lost_by_seat(played, best))
    name = "An adversary that knows the policy" if best.name == BEST else "The best adversary that was found"
    return f"{name} gains {gain:.2f} points over its self-play, both seats added (NashConv, in these games)."


def _lost_by_seat(played: PlayerLine, best: PlayerLine) -> list[float]:
    """Points of the best response minus those of the member, by seat."""
    return [best.figures[seat].points.mean - played.figures[seat].points.mean for seat in SEATS]


def _loss_sentence(played: PlayerLine, best: PlayerLine) -> str:
    member, most = played.figures[BOTH], best.figures[BOTH]
    gap = most.points.mean - member.points.mean
    if gap < SMALL_GAP:
        return "Nothing is lost to the best response in these games."
    agreed = 0.0 if math.isnan(most.points_agreed.mean) else most.points_agreed.mean
    unclosed = min(max((most.deals.mean - member.deals.mean) * agreed, 0.0), gap)
    seats = _lost_by_seat(played, best)
    worse = round(gap, 2) - round(unclosed, 2)  # so that the parts add up as they are shown
    return (
        f"It loses {gap:.2f} points to that response, {unclosed:.2f} in games without a deal and {worse:.2f} in worse "
        f"deals; {seats[0]:.2f} as seat_0, {seats[1]:.2f} as seat_1."
    )


def probe_section(figures: Figures) -> Section:
    """The gain of more information and of better responses, by seat, and the member's worst case."""
    member, against = figures.terms["member"], figures.terms["against"]
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
    measured = {label: key for label, key in lines.items() if figures.row(*key, SEATS[0]) is not None}
    table = _table(
        "expected points of ten",
        [f"as {seat}" for seat in SEATS],
        ((label, [figures.cell(*key, seat) for seat in SEATS]) for label, key in measured.items()),
    )
    (safety,) = figures.select(member=member, figure=SAFETY)
    notes = [
        f"safety: {member} scores least against {safety.against} of the zoo: {safety.value:.2f} points of ten, mean of "
        "both seats",
        *(f"a range is bounds: {how}" for how in figures.terms["bounds"]),
    ]
    compared = figures.row(member, "", COMPARED["member"], SEATS[0])
    if compared is not None:
        notes.append(
            "conceded: the seat's gain against the equilibrium of the shipped table, one of many, by demanding it; "
            f"weak: the further gain that {member}'s answers and offers concede"
        )
        if compared.note != "exact":
            notes.append(f"games of {member} and an equilibrium are played, each scenario once in both seats")
    return with_short_names(Section("probe", "what could be gained", tuple(notes), (table,)), (member, against))


def main_table(figures: Figures, evaluation: Evaluation) -> Table:
    """The member's score by seat, its shares of the best response and of the Nash point, and the partner's score."""
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
    terms, rules = evaluation.terms, evaluation.terms.rules
    return (
        f"{evaluation.member} against {evaluation.against} on {terms.source.label}: "
        f"{terms.scenarios.size:,} scenarios, each in both seats; "
        f"max_turns {rules.max_turns}, disagree {rules.disagree}, seed {terms.seed}"
    )


def _notes(evaluation: Evaluation) -> Iterator[str]:
    yield from (f"{_as_sentence(note)}." for note in evaluation.notes)
    yield (
        f"Points of ten: a seat's score in tenths of what all items are worth to it. No deal counts 0. "
        f"± is half of the {evaluation.terms.confidence:.0%} interval over scenarios."
    )
    if evaluation.values is not None:
        value = mean_of_seats(evaluation.values)
        yield (
            f"Best response: the policy with the highest score that knows the policy of {evaluation.against}, but not "
            f"its values. Expected: its mean over all scenarios of {evaluation.terms.source.prior}, "
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
    last = ultimatum_seat(evaluation.terms.rules)
    ultimatum = "" if last is None else f", ultimatum the best for {SEATS[last]}, whose offer is answered last"
    yield (
        "Columns of one split, chosen with both seats' values known, in every game: Nash has the largest product of "
        "points, utilitarian the largest sum, egalitarian (max-min, in these games Kalai and Smorodinsky's too) the "
        f"largest smaller share{ultimatum}. Where several splits are equally good, their mean is shown. Deals at one "
        "of these: the share of deals at such a split."
    )
    yield about_people(human)


def diagnosis_section(diagnosis: Diagnosis) -> Section:
    """A diagnosis as tables with notes."""
    by_act = {name: (count_cell(number), number_cell(lost)) for name, (number, lost) in diagnosis.by_act.items()}
    tables = [
        _table("in all", ("value",), [(name, (cell,)) for name, cell in _diagnosis_totals(diagnosis).items()]),
        _table("by act", ("decisions", "regret of each"), by_act.items()),
    ]
    if diagnosis.demanded:
        kept = ((turn, share) for turn, share in diagnosis.demanded if share.n)
        offers = {f"decision {turn + 1}": (count_cell(share.n), Figure(share)) for turn, share in kept}
        tables.append(_table("what its offers keep", ("offers", "share of its own points"), offers.items()))
    return Section("diagnosis", "Diagnosis", tuple(_diagnosis_notes(diagnosis)), tuple(tables))


def _diagnosis_totals(diagnosis: Diagnosis) -> dict[str, Cell]:
    rows: dict[str, Cell] = {"own points of ten, a game": Figure(diagnosis.points)}
    if diagnosis.lost is not None:
        rows["regret of its acts, a game"] = Figure(diagnosis.lost)
        rows["of the exact best response"] = number_cell(diagnosis.share, "share")
    rows["a second copy, more or less"] = Figure(diagnosis.noise)
    if answers := diagnosis.answers:
        tokens = f"{answers['prompt_tokens']:,.0f} and {answers['completion_tokens']:,.0f}"
        rows["legal decisions of its own"] = number_cell(answers["legal"], "share")
        rows["re-asks, a game"] = number_cell(answers["re_asks"])
        rows["tokens read and written, a game"] = (
            "not known: a cache answered" if math.isnan(answers["prompt_tokens"]) else tokens
        )
        rows["dollars, a game"] = "not known" if math.isnan(answers["dollars"]) else f"{answers['dollars']:.5f}"
    return rows


def _diagnosis_notes(diagnosis: Diagnosis) -> Iterator[str]:
    yield f"{diagnosis.member} against {diagnosis.against}, {diagnosis.games:,} games; points are points of ten."
    if diagnosis.note:
        yield f"{diagnosis.note[0].upper()}{diagnosis.note[1:]}."
    if diagnosis.lost is not None:
        yield "The regret of its acts in a game is, on average, the exact best response's score minus its own."
    yield "A second run plays the same scenarios with other random draws: smaller differences are noise."
