"""The replay page: a recorded game one step at a time, with both private views and the evaluated policies.

Every step is an address of its own, so that the page works by plain links; thoughts, hints and best responses are
fetched after the step is shown, as they may take seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dond_marl.game import ITEMS, SEATS, Action, State, Triple, rest, worth
from dond_marl.records.record import GameRecord
from dond_marl.records.transcript import describe_items
from dond_marl.scenarios.space import pack
from league.display.game import Step, act_in_words, act_sentence, steps
from league.display.svg.frontier import drawing, legend, plane_of, scores, verdict
from league.display.svg.markup import Markup, counted, element, joined, points
from league.web.after_game import GameAddress, game_links
from league.web.frame import facts_list, form, load, one_sentence, select
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
    PolicyBar,
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


def private_views(step: Step, names: tuple[str, str]) -> Markup:
    """The private views of both seats side by side: pool, own values, own claim and the partner's offer."""
    return element("div", *(_view(step.state, seat, names[seat]) for seat in (0, 1)), class_="views")


def recorded_talk(all_steps: Sequence[Step], now: int, names: tuple[str, str]) -> Markup:
    """The acts up to and including a step, the latest one marked."""
    lines = []
    for step in all_steps[: now + 1]:
        if step.action is None:
            continue
        seat, latest = step.state.mover, step.number == now
        parts = (
            element("span", f"{step.number + 1}. {names[seat]}", class_="who"),
            element("p", step.words or act_sentence(step)),
            element("small", f"read as: {act_sentence(step)}") if step.words else None,
            element("p", f"“{step.message}”", class_="message") if step.message else None,
            element("small", _comes_to(step)) if step.action.act_type.is_offer else None,
        )
        lines.append(element("li", *parts, class_=f"{SIDES[seat]}{' latest' if latest else ''}"))
    return element("ol", *lines, class_="lines")


def thoughts(thought: PolicyAtStep, state: State) -> Markup:
    """The likeliest acts of a policy as bars."""
    if thought.why_not:
        return element("p", f"Not known: {thought.why_not}.", class_="quiet")
    rows = [_bar(bar, state) for bar in thought.bars]
    left = 1 - sum(bar.probability for bar in thought.bars)
    rest_ = element("p", f"and {left:.0%} on everything else", class_="quiet") if left > 0.005 else None
    return joined((element("ol", *rows, class_="policy"), rest_))


def hint_line(hint: Hint | str | None, state: State) -> str:
    """An adviser's hint, in words."""
    if hint is None or isinstance(hint, str):
        return hint or "nothing"
    sure = f", {hint.confidence:.0%} sure" if hint.confidence else ""
    return f"{act_in_words(hint.action, state)}{sure}"


def best_line(best: Action | str, step: Step) -> str:
    """The act of the best response, and whether it equals the recorded act."""
    if isinstance(best, str):
        return f"not known: {best}"
    same = best.act_type == (step.action.act_type if step.action else None) and (
        not best.act_type.is_offer or (step.action is not None and best.oA == step.action.oA)
    )
    return f"{act_in_words(best, step.state)}{', as played' if same else ''}"


def _view(state: State, seat: int, name: str) -> Markup:
    scenario = state.scenario
    values, counts = scenario.utilities[seat], scenario.counts
    to_move = not state.over and state.mover == seat
    rows = []
    for item, count, value in zip(ITEMS, counts, values, strict=True):
        glyph = element("span", class_=f"glyph {item}", aria_hidden="true")
        rows.append(element("li", glyph, element("span", counted(count, item)), element("b", f"{points(value)} each")))
    claim, other = state.claims[seat], state.claims[1 - seat]
    claims = [
        ("asks for", _share(values, claim)),
        ("is offered", _share(values, None if other is None else rest(counts, other))),
    ]
    if state.outcome is not None:
        share = (0, 0, 0) if state.outcome.allocation is None else state.outcome.allocation[seat]
        claims = [("got", _share(values, share))]
    seat_name = f"{SEATS[seat]}{', to move' if to_move else ''}"
    return element(
        "section",
        element("header", element("b", name, class_="name"), element("small", seat_name)),
        element("ul", *rows, class_="pool"),
        facts_list(claims, "claims"),
        class_=f"view {SIDES[seat]}{' to-move' if to_move else ''}",
        aria_label=f"What {name} knows",
    )


def _share(values: Triple, items: Triple | None) -> str:
    return "nothing yet" if items is None else f"{describe_items(items)} ({points(worth(values, items))})"


def _comes_to(step: Step) -> str:
    """Points of an offer's split: seat_0, then seat_1."""
    assert step.action is not None
    scenario, seat = step.state.scenario, step.state.mover
    shares = step.action.oA, rest(scenario.counts, step.action.oA)
    first, second = shares if seat == 0 else shares[::-1]
    return f"{worth(scenario.utilities[0], first)} : {worth(scenario.utilities[1], second)}"


def _bar(bar: PolicyBar, state: State) -> Markup:
    filled = element("i", style=f"width:{100 * bar.probability:.1f}%")
    return element(
        "li",
        element("span", act_in_words(bar.action, state)),
        element("b", f"{bar.probability:.0%}" if bar.probability >= 0.005 else "<1%"),
        element("span", filled, class_="bar", aria_hidden="true"),
        class_="chosen" if bar.chosen else None,
    )


def belief_bars(found: Beliefs | None, step: Step, other: str) -> Markup | None:
    """Beliefs on the partner's values and identity as bars; the true values and the ``other`` name are marked."""
    if found is None:
        return None
    seat = 1 - step.state.mover
    heading = element("h3", f"Its beliefs on {SEATS[seat]}")
    if found.why_not:
        return joined((heading, element("p", f"Not known: {found.why_not}.", class_="quiet")))
    true = step.state.scenario.utilities[seat]
    rows = [_value_columns(*item) for item in zip(ITEMS, found.values, true, strict=True)]
    parts = [heading, element("ol", *rows, class_="believed")]
    if found.members:
        named = [_member_bar(name, chance, name == other) for name, chance in found.members]
        parts.append(element("ol", *named, class_="policy"))
    return joined(parts)


def _value_columns(name: str, chances: tuple[float, ...], value: int) -> Markup:
    """The probabilities of an item's value, 0 to 10 points, as columns; the true value is marked."""
    most = max(chances)
    columns = [
        element("i", style=f"height:{100 * chance / most:.0f}%", class_="true" if level == value else None)
        for level, chance in enumerate(chances)
    ]
    likeliest = chances.index(most)
    note = f"{points(likeliest)}: {most:.0%}; its {value}: {chances[value]:.0%}"
    if likeliest == value:
        note = f"{points(value)}, as it is: {most:.0%}"
    return element(
        "li",
        element("span", element("span", class_=f"glyph {name}", aria_hidden="true"), f" {name}"),
        element("small", note),
        element("span", *columns, class_="levels", aria_hidden="true"),
    )


def _member_bar(name: str, chance: float, true: bool) -> Markup:
    filled = element("i", style=f"width:{100 * chance:.1f}%")
    return element(
        "li",
        element("span", f"{name}, as it is" if true else name),
        element("b", f"{chance:.0%}" if chance >= 0.005 else "<1%"),
        element("span", filled, class_="bar", aria_hidden="true"),
        class_="chosen" if true else None,
    )


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
    place = "The end" if step.action is None else f"Act {view.step + 1} of {last}"

    def link(text: str, to: int, key: str, label: str, class_: str = "button") -> Markup:
        """A link to a step, which the arrow keys follow too; no link where it would lead to the same step."""
        if min(max(to, 0), last) == view.step:
            return element("a", text, class_=class_, role="link", aria_disabled="true", aria_label=label)
        target = view._replace(step=to).address()
        return element("a", text, class_=class_, href=target, data_part="stepper", data_key=key, aria_label=label)

    controls = element(
        "div",
        link("|<", 0, "Home", "First act"),
        link("<", view.step - 1, "ArrowLeft", "One act back"),
        element("output", place, aria_live="polite"),
        link(">", view.step + 1, "ArrowRight", "Next act", "button primary"),
        link(">|", last, "End", "The end"),
        element("button", "Play", class_="button small plays", type="button", data_play=True, hidden=True),
        class_="controls",
    )
    talk = element("div", recorded_talk(all_steps, view.step, names), class_="talked")
    spoken = element("div", element("h2", "Conversation"), talk, class_="panel")
    panels = element("div", spoken, _policy_panel(record, menu, view, step), class_="two-panels")
    analyses = [
        load(view.game.url("/replay/analysis", seat=seat), "Analysing the acts …")
        for seat in (0, 1)
        if is_person(record.occupants[seat])
    ]
    return element(
        "section",
        controls,
        private_views(step, names),
        panels,
        *analyses,
        id="stepper",
        class_="stepper",
        tabindex="-1",
        aria_label=f"Game: {title(record)}",
        data_plays=plays or None,
    )


def _policy_panel(record: GameRecord, menu: OccupantMenu, view: ReplayView, step: Step) -> Markup:
    """The panel of evaluated policies at a step, or of the result at the end."""
    if step.action is None:
        return element("div", element("h2", "The result"), ending(record), class_="panel mind")
    unfit = () if has_table(record.rules, pack([record.scenario])) else (SOLVED,)  # it has no table for this game
    player = menu.candidates[view.player].name if view.player in menu.candidates else None
    groups: dict[str, str | Mapping[str, str]] = {"": "the recorded player", **menu.groups}
    modes = {mode: HINT_LABELS[mode] for mode in HINT_MODES if mode not in unfit}
    chooser = form(
        "/replay",
        select("Policy", "player", groups, view.player),
        select("Hints by", "adviser", modes, view.adviser),
        hidden={**view.game.parameters(), "step": view.step},
        method="get",
        class_="fields two",
        data_auto=True,
        data_part="stepper",
    )
    suggestions = [
        element(
            "a",
            f"What would {name} do here?",
            class_="button small",
            href=view._replace(player=name).address(),
            data_part="stepper",
        )
        for name in SUGGESTED
        if name in menu.candidates and name not in unfit
    ]
    ask = view.player == RECORDED and is_person(record.occupants[step.state.mover])
    return element(
        "div",
        element("h2", f"The policy of {player}" if player else "The policy"),
        chooser,
        element("p", *suggestions, class_="ask") if ask else None,
        load(view.address("/replay/policy"), "Evaluating …"),
        class_="panel mind",
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
        drawn = belief_bars(beliefs(partner, step, prior), step, other)
        bars = joined((thoughts(policy(partner, step, prior), step.state), drawn))
    except CHOICE_ERRORS as error:
        bars = element("p", one_sentence(error), class_="quiet")
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
    return joined((bars, facts_list((("Hint", hint), ("Best response", best_line(best, step))), "facts-list")))


def ending(record: GameRecord) -> Markup:
    """The result of a recorded game: scores, and the point among all possible splits."""
    at = plane_of(record, 0, seat_names(record))
    text = element("p", element("b", "Deal." if at.deal else "No deal."), " ", verdict(at), class_="verdict")
    return element("div", element("div", scores(at), class_="scores"), text, drawing(at), legend(at), class_="outcome")


def file_chooser(files: Sequence[str], file: str, games: Sequence[tuple[int, GameRecord]], number: int) -> Markup:
    """The heading of the replay page: menus of files and games, and a field that opens another file."""
    names = {name: name for name in files}
    listed = {str(place): f"{place}. {title(record)}" for place, record in games}
    menus = (
        form("/replay", select("File", "file", names, file), method="get", data_auto=True) if files else None,
        form(
            "/replay",
            select("Game", "game", listed, str(number)),
            hidden={"file": file},
            method="get",
            data_auto=True,
            class_="game-chooser",
        )
        if listed
        else None,
    )
    chosen = element("input", type="file", accept=".json,.jsonl", id="open-file", data_record=True)
    opened = form(
        "/replay/open",
        element("div", element("label", "Open a file", for_="open-file"), chosen, class_="field"),
        hidden={"record": ""},
    )
    return element("div", element("h1", "Replay"), *menus, opened, class_="heading")


def links_of(view: ReplayView) -> Markup | None:
    """Links to a game of a file; none for a game in memory."""
    return game_links(view.game) if view.game.file else None
