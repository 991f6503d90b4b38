"""The page of a game: what was said, what lies on the table, and what the participant may say."""

from __future__ import annotations

import json
from dataclasses import replace

from dond_marl.game import Act, Action, Scenario, State, Triple, worth
from dond_marl.records.transcript import describe_items
from league.display.game import warning
from league.display.svg.frontier import ending_text
from league.display.svg.markup import Markup, element, points
from league.web.play.view import action_of, choices, first_split, foremost, headline, lanes, talk_lines, time_left
from league.web.study.frame import form, problem, submit
from league.web.study.progress import Table
from league.web.study.settings import PERSON, StudyConfig
from partners.human import View

ORDER = (Act.AGREE, Act.PROPOSE, Act.INSIST, Act.DISAGREE, Act.END)
THEY = "Your partner"


def seen(state: State, seat: int) -> State:
    """The state as the person in ``seat`` knows it: the other side's values are zeros."""
    mine, nothing = state.scenario.utilities[seat], (0, 0, 0)
    known = (mine, nothing) if seat == 0 else (nothing, mine)
    return replace(state, scenario=Scenario(state.scenario.counts, known))


def view_of(table: Table, seat: int) -> View:
    """The game as the person in ``seat``, who is to move, sees it."""
    return View(seen(table.state, seat))


def line_of(table: Table, seat: int) -> str:
    """Whose turn it is, in a line."""
    if table.state.mover != seat:
        return f"{THEY} is thinking …"
    return headline(view_of(table, seat)).replace("Tap items to sort them", "Choose what you would keep")


def table_page(
    config: StudyConfig,
    table: Table,
    seat: int,
    kept: Triple | None = None,
    asked: Action | None = None,
    why: str = "",
) -> Markup:
    """The game for the person in ``seat``; ``asked``: an act that is asked for twice; ``why``: what was wrong."""
    state = seen(table.state, seat)
    mine = state.mover == seat
    facts = [element("span", "you open" if seat == 0 else f"{THEY.lower()} opens"), element("span", time_left(state))]
    if table.partner == PERSON:
        facts.append(element("span", f"{config.study.turn:.0f} seconds for an act"))
    hand = _hand(table, View(state), kept, asked, why) if mine else _pool(state, seat)
    return element(
        "section",
        element(
            "header",
            element("h1", line_of(table, seat), aria_live="polite"),
            element("p", *facts, class_="facts"),
            class_="status",
        ),
        _talk(state, seat),
        element("div", hand, class_="hand"),
        class_="game",
        aria_label="The game",
        **_data(state, seat),
    )


def _data(state: State, seat: int) -> dict[str, str]:
    """What the participant sees, and no more, for programs that help to read a page, or play in a rehearsal."""
    said = [[action.act_type.name, list(action.oA)] for action in state.history]
    return {
        "data_seat": str(seat),
        "data_pool": json.dumps(state.scenario.counts),
        "data_values": json.dumps(state.scenario.utilities[seat]),
        "data_said": json.dumps(said),
        "data_acts": str(state.rules.max_turns),
    }


def result_page(config: StudyConfig, table: Table, seat: int, participant: int) -> Markup:
    """How a game ended."""
    feedback = config.study.feedback
    if table.why != "finished":
        head, told = "This game is over.", [_cut_short(config, table, participant)]
    else:
        word, how = ending_text(table.state, seat)
        head, told = word, [how.replace("They", THEY)]
        outcome = table.state.outcome
        assert outcome is not None
        if feedback != "none":
            told.append(f"You get {points(outcome.scores[seat])}.")
        if feedback == "both":
            told.append(f"{THEY} gets {points(outcome.scores[1 - seat])}.")
    return element(
        "section",
        element("h1", head),
        *(element("p", sentence) for sentence in told),
        _talk(seen(table.state, seat), seat),
        form("/on", submit("Continue", autofocus=True)),
        class_="panel story",
    )


def _cut_short(config: StudyConfig, table: Table, participant: int) -> str:
    if table.why == "failed":
        return f"{THEY} could not go on. This game does not count."
    mine = table.blame == participant
    if table.why == "late":
        whose = "You have" if mine else f"{THEY} has"
        return f"{whose} said nothing for {config.study.turn:.0f} seconds, so this game does not count."
    return f"{'You have' if mine else f'{THEY} has'} stopped taking part, so this game does not count."


def _talk(state: State, seat: int) -> Markup:
    lines = [
        element(
            "li",
            element("span", "You" if line.mine else THEY, class_="who"),
            element("p", line.text),
            element("small", line.note) if line.note else None,
            class_="me" if line.mine else "they",
        )
        for line in talk_lines(state, seat)
    ]
    log = element("ol", *lines, class_="lines")
    said = element("div", log, class_="log", role="log", tabindex="0", aria_label="What was said")
    return element("section", said, class_="talk", aria_label="Conversation")


def _pool(state: State, seat: int) -> Markup:
    """The table while the other side thinks."""
    counts, values = state.scenario.counts, state.scenario.utilities[seat]
    rows = (_item(lane.item, lane.number, lane.value) for lane in lanes(_as_mine(state, seat)))
    whole = element("p", f"On the table: {describe_items(counts)}, worth {points(worth(values, counts))} to you.")
    return element("div", whole, element("div", *rows, class_="pool-rows"), class_="panel keep")


def _as_mine(state: State, seat: int) -> View:
    """A view in which ``seat`` is to move, for its pool and values alone."""
    mine = state.scenario.utilities[seat]
    return View(State(Scenario(state.scenario.counts, (mine, (0, 0, 0))), state.rules))


def _hand(table: Table, view: View, kept: Triple | None, asked: Action | None, why: str) -> Markup:
    split = first_split(view) if kept is None else kept
    fields = element(
        "div",
        element("p", "What would you keep?", class_="lead"),
        *(_stepper(place, lane.item, lane.number, lane.value, split[place]) for place, lane in enumerate(lanes(view))),
        element(
            "p",
            element("output", _told(view, split), id="told"),
            class_="told-so",
            aria_live="polite",
            data_whole=str(worth(view.values, view.counts)),
        ),
        class_="panel keep",
    )
    buttons = [
        _button(act, label, detail, legal, act is foremost(view, split))
        for act, label, detail, legal in _acts(view, split)
    ]
    turn = {"table": table.number, "turn": len(table.said)}
    acts = element("div", *buttons, class_="acts", role="group", aria_label="What you can say")
    plain = form("/act", fields, problem(why), acts, class_="turn", **turn, browser="")
    return plain if asked is None else element("div", _sure(view, asked, turn), plain, class_="turns")


def _acts(view: View, split: Triple) -> list[tuple[Act, str, str, bool]]:
    known = {each.act: each for each in choices(view, split)}
    return [(act, known[act].label, known[act].detail, known[act].legal) for act in ORDER]


def _button(act: Act, label: str, detail: str, legal: bool, first: bool) -> Markup:
    return element(
        "button",
        element("b", label),
        element("small", detail),
        class_=f"act {act.name.lower()}{' primary' if first else ''}",
        type="submit",
        name="act",
        value=act.name,
        disabled=not legal,
    )


def _sure(view: View, asked: Action, turn: dict[str, int]) -> Markup:
    """Asks again for what may leave the participant with nothing."""
    label = next(each.label for each in choices(view, asked.oA) if each.act is asked.act_type)
    yes = element(
        "button", f"Yes: {label.lower()}", class_="button", type="submit", name="act", value=asked.act_type.name
    )
    no = element("a", "No", class_="button primary", href="/")
    told = element("p", f"{warning(asked, view)} Really?")
    return form("/act", told, no, yes, class_="confirm", **turn, browser="", sure=1)


def doubtful(table: Table, action: Action, seat: int) -> bool:
    """Whether an act is asked for twice."""
    return bool(warning(action, view_of(table, seat)))


def _told(view: View, split: Triple) -> str:
    own = worth(view.values, split)
    return f"You keep {describe_items(split)}: {points(own)} of {worth(view.values, view.counts)}."


def _item(item: str, number: int, value: int) -> Markup:
    glyphs = (element("span", class_=f"glyph {item}", aria_hidden="true") for _ in range(number))
    rate = element("span", f"{item}s, {points(value)} each to you", class_="rate-of")
    return element("p", element("span", *glyphs, class_="glyphs"), rate, class_="item-row")


def _stepper(place: int, item: str, number: int, value: int, kept: int) -> Markup:
    glyphs = element(
        "span", *(element("span", class_=f"glyph {item}") for _ in range(number)), class_="glyphs", aria_hidden="true"
    )
    options = (
        element(
            "label",
            element(
                "input", type="radio", name=f"keep{place}", value=str(each), checked=each == kept, data_worth=str(value)
            ),
            element("span", str(each)),
        )
        for each in range(number + 1)
    )
    legend = element("legend", f"{item}s, ", element("b", f"{points(value)} each"), " to you")
    return element(
        "fieldset", legend, glyphs, element("div", *options, class_="steps-of"), class_="stepper-row", data_item=item
    )


__all__ = ["action_of", "doubtful", "line_of", "result_page", "seen", "table_page", "view_of"]
