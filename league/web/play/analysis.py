"""A finished game act by act, on the page: what each act of the person cost, and what would have been better."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from nicegui import background_tasks

from dond_marl.game import State
from dond_marl.records.record import GameRecord
from dond_marl.seats import Partner
from league.display.svg.markup import Markup, element, joined, points
from league.evaluation.analysis import BEST, GOOD, Analysis, Judged, Valued, analysis, word
from league.web.aside import Busy, aside
from league.web.elements import Tag, html, in_a_sentence, show
from league.web.occupants import MISTAKES
from league.web.play.view import act_text


class AnalysisPanel:
    """The acts of ``seat`` in a finished game; looked at aside, as ``partner`` and ``expert`` may take long to make.

    Both are asked for when they are needed: ``partner`` may raise one of :data:`league.web.occupants.MISTAKES`.
    """

    def __init__(
        self,
        record: GameRecord,
        seat: int,
        partner: Callable[[], Partner | None],
        expert: Callable[[], Partner | None],
        whose: str = "your",
    ) -> None:
        with Tag("section", classes="panel analysis", aria_label="Analysis") as self._whole:
            Tag("h2", "Analysis")
            self._waiting = Tag("p", f"Looking at {whose} acts …", "quiet", role="status")
            self._place = html()

        def found() -> Markup:
            try:
                opposite = partner()
            except MISTAKES:  # it cannot be made any more, as of a league that is gone
                opposite = None
            return analysed(analysis(record, seat, opposite, expert()), whose)

        async def wait() -> None:
            try:
                markup = await aside(found)
            except Busy as busy:
                markup = element("p", in_a_sentence(busy), class_="quiet")
            except Exception as error:  # noqa: BLE001  # somebody else's code is asked for everything it might say
                markup = element("p", f"These acts cannot be looked at: {in_a_sentence(error)}", class_="quiet")
            if not self._whole.is_deleted:
                self._waiting.set(hidden=True)
                show(self._place, markup)

        background_tasks.create(wait(), name="an analysis")


def analysed(found: Analysis, whose: str = "your") -> Markup:
    """Every act with its judgement; ``whose``: the word for the one who played."""
    if not found.acts:
        return element("p", "There is no act to look at: the game was over before one.", class_="quiet")
    acts = element("ol", *(_act(judged) for judged in found.acts), class_="judged")
    first, last = element("p", summary(found, whose), class_="in-short"), element("p", found.compared, class_="quiet")
    return joined((first, acts, last))


def summary(found: Analysis, whose: str = "your") -> str:
    """The analysis in a sentence or two."""
    if not found.exact:
        return f"What the expert would have said, beside {whose} acts."
    costs = [judged.cost for judged in found.acts]
    worst = max(range(len(costs)), key=costs.__getitem__)
    at = len(found.acts[worst].state.history) + 1
    if costs[worst] <= GOOD:
        good = f"Every one of {whose} acts was a good one."
        lost = f"{costs[worst]:.1f} points of what could be expected"
        return good if costs[worst] < BEST else f"{good} The costliest, act {at}, gave away {lost}."
    return f"Act {at} was the costliest: it {word(found.acts[worst])} of what could be expected."


def _act(judged: Judged) -> Markup:
    state, told = judged.state, word(judged)
    mark = "best" if told in ("best", "good") else "lost"
    head = element(
        "p",
        element("span", f"Act {len(state.history) + 1}", class_="who"),
        element("b", act_text(judged.played.action, state)),
        element("span", told, class_=f"judgement {mark}") if told else None,
        element("small", f"{_number(judged.played.points)} expected") if told else None,
    )
    lines = []
    for term, others in _compared(judged):
        lines.append(_line(term, joined(_said(each, state) for each in others)))
    if judged.expert is not None:
        alike = judged.expert.action == judged.played.action
        lines.append(_line("Expert", element("span", "the same") if alike else _said(judged.expert, state)))
    return element("li", head, element("dl", *lines, class_="said-too"))


def _compared(judged: Judged) -> Iterator[tuple[str, list[Valued]]]:
    """The other acts, by what they are beside the one that was played."""
    gains = [(each.points - judged.played.points, each) for each in judged.best]
    groups = {
        "Better": [each for gain, each in gains if gain >= BEST],
        "As good": [each for gain, each in gains if abs(gain) < BEST],
        "Worse": [each for gain, each in gains if gain <= -BEST],
    }
    yield from ((term, others) for term, others in groups.items() if others)


def _line(term: str, what: Markup) -> Markup:
    return element("div", element("dt", term), element("dd", what))


def _said(act: Valued, state: State) -> Markup:
    """An act, and what is to be expected from it."""
    told = act_text(act.action, state)
    expected = None if math.isnan(act.points) else element("small", f"{_number(act.points)} expected")
    return element("span", element("span", told), expected, class_="worth")


def _number(value: float) -> str:
    whole = round(value, 1)
    return points(int(whole)) if whole == int(whole) else f"{whole:.1f} points"
