"""The evaluation of a pair, and a probe, as figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dond_marl.dialogues.human_line import HumanLine
from dond_marl.game import SEATS
from league.evaluation.evaluate import BEST, BOTH, HUMANS, VIEWS, Evaluation, human_figures, mean_of_seats
from league.evaluation.exploitability import Probe
from league.evaluation.matches import UnreachedError
from league.figures.measures import FIGURES, PlayedFigures, score_pairs
from league.play.values import Answers
from league.tables.blocks import Unit
from league.tables.rows import FigureRow, Figures, bounded_row, figure_row

VALUE, INFORMED, INFORMATION = (
    "value of a response",
    "value of a response that sees both values",
    "value of information",
)
SELF_PLAY, EXPLOITABILITY, SAFETY = "self-play", "exploitability", "safety"
EQUILIBRIUM = "an equilibrium"
COMPARED = {  # field of a comparison with an equilibrium: figure
    "member": "points against an equilibrium",
    "shortfall": "less than an equilibrium there",
    "equilibrium": "an equilibrium's points against it",
    "advantage": "more than an equilibrium gets against itself",
}


def share_of(reference: str) -> str:
    """The name of a figure: own points as a share of a reference's."""
    return f"share of {reference}"


def unit_of(figure: str) -> Unit:
    """The unit of a figure of :data:`league.figures.measures.FIGURES`."""
    if figure == "turns":
        return "acts"
    return "share" if FIGURES[figure].is_share else "points"


def played_rows(
    member: str, against: str, by_view: Mapping[str, PlayedFigures], names: Iterable[str] = FIGURES
) -> Iterator[FigureRow]:
    """The rows of one player's games, or of a point of reference: figures of each view."""
    for view in VIEWS:
        for name in names:
            seat = "" if view == BOTH else view
            yield figure_row(member, against, name, seat, getattr(by_view[view], name), unit_of(name))


def pair_figures(evaluation: Evaluation, human: HumanLine) -> Figures:
    """The evaluation of a pair as rows: of the member, the best response, points of reference and people."""
    rules, source = evaluation.rules, evaluation.source
    terms = {
        "member": evaluation.member,
        "against": evaluation.against,
        "scenarios": {"source": source.label, "number": evaluation.scenarios.size, "sha256": source.digest()},
        "rules": {"max_turns": rules.max_turns, "disagree": rules.disagree},
        "seed": evaluation.seed,
        "confidence": evaluation.confidence,
        "notes": list(evaluation.notes),
        "units": {figure: described.unit for figure, described in FIGURES.items()},
        "splits": {  # own points, the partner's, games
            seat: [[*pair, number] for pair, number in zip(*(a.tolist() for a in score_pairs(points)), strict=True)]
            for seat, points in zip(SEATS, evaluation.played.points, strict=True)
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
    return FigureRow(member, "", figure, "", number, float("nan"), float("nan"), total, "count")


def probe_rows(probed: Probe) -> Iterator[FigureRow]:
    """A probe as rows: values of responses, of information, self-play, exploitability and safety, by seat."""
    member, against = probed.member, probed.against
    for seat, value in zip(SEATS, probed.hidden, strict=True):
        yield bounded_row(BEST, against, VALUE, seat, value.low, value.high, exact=value.exact)
    for seat, value in zip(SEATS, probed.informed or (), strict=False):
        yield bounded_row(BEST, against, INFORMED, seat, value.low, value.high, exact=value.exact)
    for seat, (low, high) in zip(SEATS, probed.information or (), strict=False):
        yield bounded_row(BEST, against, INFORMATION, seat, low, high, exact=low == high)
    for seat, exploited in zip(SEATS, probed.exploited, strict=True):
        value, itself = exploited.response, exploited.self_play
        yield bounded_row(BEST, member, VALUE, seat, value.low, value.high, exact=value.exact)
        yield bounded_row(member, member, SELF_PLAY, seat, itself, itself, exact=True)
        yield bounded_row(member, BEST, EXPLOITABILITY, seat, *exploited.gain, exact=value.exact)
    if probed.split_gains is not None:
        for part, pair in probed.split_gains._asdict().items():
            for seat, (low, high) in zip(SEATS, pair, strict=True):
                yield bounded_row(member, BEST, f"{EXPLOITABILITY}, {part}", seat, low, high, exact=False)
    if probed.compared is not None:
        for seat, points, (low, high) in zip(SEATS, probed.compared.values, probed.compared.responses, strict=True):
            yield bounded_row(EQUILIBRIUM, EQUILIBRIUM, SELF_PLAY, seat, points, points, exact=True)
            yield bounded_row(BEST, EQUILIBRIUM, VALUE, seat, low, high, exact=low == high)
        for field, figure in COMPARED.items():
            for seat, points in zip(SEATS, getattr(probed.compared, field), strict=True):
                yield bounded_row(member, "", figure, seat, points, points, exact=probed.compared.exact)
    points = probed.safety.points
    yield bounded_row(member, probed.safety.responder, SAFETY, "", points, points, exact=True)


def refused_figures(member: str, against: str, error: UnreachedError) -> Figures:
    """A refused evaluation: the reason among the terms, and the counts of both players' decisions as rows."""
    rows = tuple(row for name, answers in error.answers.items() for row in _answer_rows(name, answers))
    return Figures({"member": member, "against": against, "refused": str(error)}, rows)
