"""The replay page: a recorded game one step at a time, with both private views and the evaluated policies.

Every step is an address of its own, so that the page works by plain links; thoughts, hints and best responses are
fetched after the step is shown, as they may take seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dond_marl.game import ITEMS, SEATS, Action, State, Triple, rest, worth
from dond_marl.records.record import GameRecord
from dond_marl.records.transcript import describe_items
from dond_marl.scenarios.sources import pack
from league.display.game import Step, act_in_words, act_sentence, steps
from league.display.svg.frontier import drawing, legend, plane_of, scores, verdict
from league.display.svg.markup import Markup, points
from league.web.after_game import GameAddress
from league.web.frame import one_sentence, render
from league.web.live_game import Hint
from league.web.occupants import (
    CHOICE_ERRORS,
    HINT_LABELS,
    HINT_MODES,
    SOLVED,
    OccupantMenu,
    make_adviser,
    make_partner,
)
from league.web.replay.recorded import (
    Beliefs,
    PolicyAtStep,
    advice,
    beliefs,
    best_answer,
    is_person,
    policy,
    prior_of,
    seat_names,
    title,
)
from partners.equilibrium import has_table

SIDES = ("me", "they")  # seat_0 is drawn like the viewer, seat_1 like the partner
SUGGESTED = ("expert", "heuristic", SOLVED)  # policies to evaluate where a person played
RECORDED = ""  # key of the recorded player's own policy


def private_views(state: State, names: tuple[str, str]) -> Markup:
    """The private views of both seats side by side: pool, own values, own claim and the partner's offer."""
    views, counts = [], state.scenario.counts
    for seat, values in enumerate(state.scenario.utilities):
        other = state.claims[1 - seat]
        claims = [
            ("asks for", _share(values, state.claims[seat])),
            ("is offered", _share(values, None if other is None else rest(counts, other))),
        ]
        if state.outcome is not None:
            share = (0, 0, 0) if state.outcome.allocation is None else state.outcome.allocation[seat]
            claims = [("got", _share(values, share))]
        views.append(
            {
                "side": SIDES[seat],
                "seat": SEATS[seat],
                "name": names[seat],
                "to_move": not state.over and state.mover == seat,
                "pool": list(zip(ITEMS, counts, values, strict=True)),
                "claims": claims,
            }
        )
    return render("replay", "private_views", views)


def recorded_talk(all_steps: Sequence[Step], now: int, names: tuple[str, str]) -> Markup:
    """The acts up to and including a step, the latest one marked; an offer with its points to seat_0 and seat_1."""
    lines = []
    for step in all_steps[: now + 1]:
        if step.action is None:
            continue
        seat, scenario, offer = step.state.mover, step.state.scenario, step.action.oA
        splits = (offer, rest(scenario.counts, offer)) if seat == 0 else (rest(scenario.counts, offer), offer)
        first, second = map(worth, scenario.utilities, splits)
        lines.append(
            {
                "side": SIDES[seat],
                "latest": step.number == now,
                "number": step.number + 1,
                "name": names[seat],
                "words": step.words,
                "sentence": act_sentence(step),
                "message": step.message,
                "shares": f"{first} : {second}" if step.action.act_type.is_offer else "",
            }
        )
    return render("replay", "talk", lines)


def thoughts(thought: PolicyAtStep, state: State) -> Markup:
    """The likeliest acts of a policy as bars."""
    bars = [(act_in_words(bar.action, state), bar.probability, bar.chosen) for bar in thought.bars]
    return render("replay", "thoughts", thought.why_not, bars, 1 - sum(chance for _, chance, _ in bars))


def belief_bars(found: Beliefs | None, step: Step, other: str) -> Markup:
    """Beliefs on the partner's values and identity as bars; the true values and the ``other`` name are marked."""
    seat = 1 - step.state.mover
    true = step.state.scenario.utilities[seat]
    return Markup("") if found is None else render("replay", "beliefs", SEATS[seat], found, true, other)


def hint_line(hint: Hint | str | None, state: State) -> str:
    """An adviser's hint, in words."""
    if hint is None or isinstance(hint, str):
        return hint or "nothing"
    return f"{act_in_words(hint.action, state)}{hint.sureness}"


def best_line(best: Action | str, step: Step) -> str:
    """The act of the best response, and whether it equals the recorded act."""
    if isinstance(best, str):
        return f"not known: {best}"
    same = best.act_type == (step.action.act_type if step.action else None) and (
        not best.act_type.is_offer or (step.action is not None and best.oA == step.action.oA)
    )
    return f"{act_in_words(best, step.state)}{', as played' if same else ''}"


def _share(values: Triple, items: Triple | None) -> str:
    return "nothing yet" if items is None else f"{describe_items(items)} ({points(worth(values, items))})"


class ReplayView(NamedTuple):
    """A replay's address: the game, the step, and the policies that are evaluated."""

    game: GameAddress
    step: int = 0
    player: str = RECORDED  # key of the menu
    adviser: str = "expert"  # one of HINT_MODES

    def address(self, path: str = "/replay", **more: object) -> str:
        """The URL of this view under ``path``, with ``more`` parameters."""
        return self.game.url(path, step=self.step, player=self.player, adviser=self.adviser, **more)


def stepper(record: GameRecord, menu: OccupantMenu, view: ReplayView, *, plays: bool = False) -> Markup:
    """A game at one step; ``plays``: it advances by itself.

    Raises :class:`~dond_marl.records.record.RecordError` for a record that does not replay.
    """
    all_steps, names = steps(record), seat_names(record)
    last = len(all_steps) - 1
    view = view._replace(step=min(max(view.step, 0), last))
    step = all_steps[view.step]
    moves = (
        ("|<", 0, "Home", "First act", "button"),
        ("<", view.step - 1, "ArrowLeft", "One act back", "button"),
        (">", view.step + 1, "ArrowRight", "Next act", "button primary"),
        (">|", last, "End", "The end", "button"),
    )
    links = [  # none where it would lead to the same step
        (text, None if min(max(to, 0), last) == view.step else view._replace(step=to).address(), key, label, style)
        for text, to, key, label, style in moves
    ]
    place = "The end" if step.action is None else f"Act {view.step + 1} of {last}"
    people = [seat for seat in (0, 1) if is_person(record.occupants[seat])]
    return render(
        "replay",
        "stepper",
        title(record),
        plays,
        links,
        place,
        private_views(step.state, names),
        recorded_talk(all_steps, view.step, names),
        _policy_panel(record, menu, view, step),
        [view.game.url("/replay/analysis", seat=seat) for seat in people],
    )


def _policy_panel(record: GameRecord, menu: OccupantMenu, view: ReplayView, step: Step) -> Markup:
    """The panel of evaluated policies at a step, or of the result at the end."""
    if step.action is None:
        at = plane_of(record, 0, seat_names(record))
        return render("replay", "ending", at.deal, scores(at), verdict(at), drawing(at), legend(at))
    unfit = () if has_table(record.rules, pack([record.scenario])) else (SOLVED,)  # it has no table for this game
    asks = view.player == RECORDED and is_person(record.occupants[step.state.mover])
    suggestions = [
        (name, view._replace(player=name).address())
        for name in SUGGESTED
        if name in menu.candidates and name not in unfit
    ]
    return render(
        "replay",
        "policy_panel",
        menu.candidates[view.player].name if view.player in menu.candidates else None,
        {"": "the recorded player", **menu.groups},
        view.player,
        {mode: HINT_LABELS[mode] for mode in HINT_MODES if mode not in unfit},
        view.adviser,
        {**view.game.parameters(), "step": view.step},
        suggestions if asks else None,
        view.address("/replay/policy"),
    )


def policy_panel_content(record: GameRecord, menu: OccupantMenu, view: ReplayView) -> Markup:
    """Policy, beliefs, hint and best response at a step. Slow the first time, as partners are made."""
    all_steps = steps(record)
    step, prior = all_steps[min(max(view.step, 0), len(all_steps) - 1)], prior_of(record)
    if step.action is None:
        return Markup("")
    mover = step.state.mover
    player, other = record.occupants[mover], record.occupants[1 - mover]
    try:
        if view.player == RECORDED and is_person(player):
            raise ValueError("A person played here, so the policy is not known")
        candidate = menu.resolve(player) if view.player == RECORDED else menu.candidate(view.player)
        partner = make_partner(candidate)[0]
        bars = thoughts(policy(partner, step, prior), step.state)
        bars += belief_bars(beliefs(partner, step, prior), step, other)
    except CHOICE_ERRORS as error:
        bars = render("forms", "quiet", one_sentence(error))
    try:
        adviser = make_adviser(view.adviser)
        hint = "none" if adviser is None else hint_line(advice(adviser, step, prior), step.state)
    except CHOICE_ERRORS as error:
        hint = one_sentence(error)
    best: Action | str
    try:
        if is_person(other):
            raise ValueError("the partner is a person with unknown answers")
        best = best_answer(make_partner(menu.resolve(other))[0], step, prior)
    except CHOICE_ERRORS as error:
        best = one_sentence(error).removesuffix(".")
    return render("replay", "evaluated", bars, (("Hint", hint), ("Best response", best_line(best, step))))
