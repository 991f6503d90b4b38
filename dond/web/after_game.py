"""The end of a game on the play page: result, links to the recorded game, and its analysis act by act."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup

from dond.table.frontier import plane_of
from dond.table.game import describe_act
from dond.table.session import tally
from dond.web.frame import render
from dond_marl.game import Act, State, apply, rest, worth
from dond_marl.records.record import GameRecord
from dond_marl.records.transcript import describe_items
from dond_marl.seats import Cause, Partner
from league.evaluation.analysis import BEST, GOOD, Analysis, JudgedAct, ValuedAct, analyse_acts, judgement
from league.tables.figures import points

MOST_OF_LINE = 3  # acts that are shown of how a game would have gone on
LINE_WORDS = {  # of the player, and of the partner
    Act.PROPOSE: ("you ask for", "they offer you"),
    Act.INSIST: ("you insist on", "they leave you"),
    Act.AGREE: ("you accept", "they accept"),
    Act.DISAGREE: ("you say no", "they say no"),
    Act.END: ("you stop talking", "they stop talking"),
}


class GameAddress(NamedTuple):
    """A recorded game: number ``game``, from 1, of a file, or the ``token`` of a game in memory."""

    file: str = ""
    game: str = ""
    token: str = ""

    def parameters(self) -> dict[str, str]:
        """The query parameters of the game."""
        return {"token": self.token} if self.token else {"file": self.file, "game": self.game}

    def url(self, path: str = "/replay", **more: object) -> str:
        """The address of a page of the game; empty parameters are left out."""
        return f"{path}?{urlencode({**self.parameters(), **{k: v for k, v in more.items() if v not in ('', 0)}})}"


def result(played: Sequence[tuple[GameRecord, int]], partner: str) -> Markup:
    """Scores, verdict and picture of the last game of ``played``, each a record and the person's seat."""
    record, seat = played[-1]
    causes = [Cause(cause) for cause in record.causes[1 - seat :: 2]]
    fallbacks = {cause.name.lower(): causes.count(cause) for cause in sorted(set(causes) - {Cause.FREE})}
    means = tally(played) if len(played) > 1 else None
    return render("play", "result", record, seat, partner, fallbacks, plane_of(record, seat), means, len(played))


def analysis_panel(
    record: GameRecord, seat: int, partner: Partner | None, expert: Partner | None, possessive: str
) -> Markup:
    """The analysis of one seat; slow. ``possessive``: the possessive of the player, such as ``your``."""
    try:
        analysis = analyse_acts(record, seat, partner, expert)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # partners of other packages may raise anything
        return render("play", "analysis", f"These acts cannot be analysed: {type(error).__name__}.", (), "")
    return render_analysis(analysis, possessive)


def render_analysis(analysis: Analysis, possessive: str = "your") -> Markup:
    """An analysis as a summary, a list of acts with their cost, and the basis of comparison."""
    if not analysis.acts:
        return render("play", "analysis", "There is no act to analyse: the game was over before one.", (), "")
    return render(
        "play", "analysis", summary(analysis, possessive), list(map(_act_item, analysis.acts)), analysis.compared
    )


def summary(analysis: Analysis, possessive: str = "your") -> str:
    """An analysis in one or two sentences: the costliest act, or that all were good."""
    if not analysis.exact:
        return f"The expert's acts, next to {possessive} acts."
    costs = [judged.cost for judged in analysis.acts]
    worst = max(range(len(costs)), key=costs.__getitem__)
    number = len(analysis.acts[worst].state.history) + 1
    if costs[worst] < BEST:
        return f"Every one of {possessive} acts was a good one."
    if costs[worst] <= GOOD:
        return f"No mistakes: at most {costs[worst]:.1f} points more could be expected, with another act {number}."
    return f"Act {number} was the costliest: it {judgement(analysis.acts[worst])} of what could be expected."


def _act_item(judged: JudgedAct) -> dict[str, object]:
    """One analysed act: its judgement, the other acts by whether they are better, and the expert's act."""
    state = judged.state
    alternatives: dict[str, list[tuple[str, str]]] = {"Better": [], "As good": [], "Worse": []}
    for valued in judged.best:
        gain = judged.gain(valued)
        alternatives["As good" if abs(gain) < BEST else "Better" if gain > 0 else "Worse"].append(
            _describe(valued, state)
        )
    if judged.line:
        alternatives["In this game"] = [(_line_of_play(judged), "")]
    if judged.expert is not None:
        same = judged.expert.action == judged.played.action
        alternatives["Expert"] = [("the same", "") if same else _describe(judged.expert, state)]
    words, expected = _describe(judged.played, state)
    return {
        "number": len(state.history) + 1,
        "words": words,
        "verdict": judgement(judged),
        "expected": expected,
        "others": [(term, acts) for term, acts in alternatives.items() if acts],
    }


def _line_of_play(judged: JudgedAct) -> str:
    """The rest of this game after the best act, in words of the player."""
    state, parts = apply(judged.state, judged.best[0].action), []
    seat, scenario = judged.state.mover, state.scenario
    for action in judged.line:
        by_player = state.mover == seat
        words = LINE_WORDS[action.act_type][not by_player]
        if action.act_type.is_offer:
            items = action.oA if by_player else rest(scenario.counts, action.oA)
            words += f" {describe_items(items)} ({points(worth(scenario.utilities[seat], items))})"
        parts.append(words)
        state = apply(state, action)
    assert state.outcome is not None
    ended = ": " if len(parts) <= MOST_OF_LINE else ", …; in the end "
    return f"after the first, {', '.join(parts[:MOST_OF_LINE])}{ended}{points(state.outcome.scores[seat])}"


def _describe(act: ValuedAct, state: State) -> tuple[str, str]:
    """An act and its expected points, in words."""
    rounded = round(act.points, 1)
    if math.isnan(rounded):
        return describe_act(act.action, state), ""
    value = points(int(rounded)) if rounded == int(rounded) else f"{rounded:.1f} points"
    return describe_act(act.action, state), f"{value} expected"
