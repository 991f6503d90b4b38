"""Content of a study's pages: consent, instructions, check, games, questionnaire, and the ends."""

from __future__ import annotations

from collections.abc import Mapping

from dond_marl.game import Action, Triple
from league.display.svg.frontier import ending_text
from league.display.svg.markup import Markup, element, points
from league.web.bargaining_table import (
    conversation,
    game_section,
    headline,
    hide_partner_values,
    initial_split,
    really,
    turn_form,
    turns_left,
    view_before_turn,
)
from league.web.frame import choice, form, paragraphs, problem, submit
from league.web.study.progress import Participant, StudyTable
from league.web.study.running_study import completion_code
from league.web.study.settings import PERSON, QuestionConfig, StudyConfig
from partners.human import View

PARTNER = "Your partner"  # name of the other side, which reveals nothing


def person_view(table: StudyTable, seat: int) -> View:
    """The view of the participant in ``seat``, who is to move; the partner's values are zeros."""
    return View(hide_partner_values(table.state, seat))


def game_headline(table: StudyTable, seat: int) -> str:
    """The state of the game in one line."""
    return f"{PARTNER} is thinking …" if table.state.mover != seat else headline(person_view(table, seat))


def game(
    config: StudyConfig,
    table: StudyTable,
    seat: int,
    split: Triple | None = None,
    question: Action | None = None,
    why: str = "",
) -> Markup:
    """The table for the participant in ``seat``.

    ``split``: the split to show, by default the initial one; ``question``: an act to be confirmed; ``why``: a message.
    """
    state = hide_partner_values(table.state, seat)
    mine = state.mover == seat
    facts = ["you open" if seat == 0 else f"{PARTNER.lower()} opens", turns_left(state)]
    if table.partner == PERSON:
        facts.append(f"{config.study.turn:.0f} seconds for an act")
    view = View(state) if mine else view_before_turn(table.state.scenario, seat, state.rules)
    hidden = {"table": table.number, "turn": len(table.acts), "browser": ""}
    shown = initial_split(view) if split is None else split
    turn = turn_form(view, shown, "/act", hidden, playing=mine, why=why)
    confirm = None if question is None else really(view, question, "/act", hidden, "/")
    return game_section(
        state,
        seat,
        confirm,
        turn,
        partner=PARTNER,
        heading=game_headline(table, seat),
        facts=facts,
        thinking=not mine,
    )


def result(config: StudyConfig, table: StudyTable, seat: int, participant: int) -> Markup:
    """The end of a game; whose points are shown is a setting."""
    feedback = config.study.feedback
    if table.end != "finished":
        heading, sentences = "This game is over.", [_interruption(config, table, participant)]
    else:
        heading, how = ending_text(table.state, seat)
        sentences = [how.replace("They", PARTNER)]
        outcome = table.state.outcome
        assert outcome is not None
        if feedback != "none":
            sentences.append(f"You get {points(outcome.scores[seat])}.")
        if feedback == "both":
            sentences.append(f"{PARTNER} gets {points(outcome.scores[1 - seat])}.")
    return _story(
        heading,
        *(element("p", sentence) for sentence in sentences),
        conversation(hide_partner_values(table.state, seat), seat, PARTNER),
        form("/on", submit("Continue", autofocus=True)),
    )


def _interruption(config: StudyConfig, table: StudyTable, participant: int) -> str:
    """Why a game that does not count ended."""
    if table.end == "failed":
        return f"{PARTNER} could not go on. This game does not count."
    blamed = "You have" if table.blame == participant else f"{PARTNER} has"
    if table.end == "late":
        return f"{blamed} not acted for {config.study.turn:.0f} seconds, so this game does not count."
    return f"{blamed} stopped taking part, so this game does not count."


def consent(config: StudyConfig, why: str = "") -> Markup:
    """The consent text with a box to tick; a warning while it is a template."""
    left = config.templates_left
    warned = element(
        "p",
        f"This is a template: texts.{', texts.'.join(left)} must be written before the study begins.",
        class_="notice",
    )
    box = element(
        "label",
        element("input", type="checkbox", name="agree", value="yes", required=True),
        element("span", config.texts.agree),
        class_="tick",
    )
    return _story(
        config.study.title,
        warned if left else None,
        paragraphs(config.texts.consent),
        form("/agree", box, problem(why), submit("Take part")),
    )


def instructions(config: StudyConfig) -> Markup:
    """The instructions."""
    return _story("How it works", paragraphs(config.texts.instructions), form("/read", submit("Continue")))


def check(config: StudyConfig, participant: Participant, given: Mapping[str, object], why: str = "") -> Markup:
    """Questions on the instructions; ``given``: answers so far, by field."""
    left = config.study.attempts - participant.attempts
    wrong = "Not all of this was right. Please read the instructions again." if participant.attempts else ""
    tries = f"You have {left} {'tries' if left > 1 else 'try'} left."
    again = element(
        "details", element("summary", "The instructions"), paragraphs(config.texts.instructions), class_="more"
    )
    rows = (
        choice(
            f"q{place}",
            each.question,
            [(str(n), text) for n, text in enumerate(each.options, 1)],
            str(given.get(f"q{place}", "")),
        )
        for place, each in enumerate(config.check)
    )
    return _story(
        "A few questions first",
        problem(why or wrong),
        element("p", tries, class_="quiet"),
        again,
        form("/check", *rows, submit("Answer")),
    )


def ready(config: StudyConfig, participant: Participant) -> Markup:
    """The page before a first game, or after a skipped one."""
    many = config.games_each
    text = f"You are going to play {many} games." if many > 1 else "You are going to play one game."
    if participant.game:
        text = f"Now comes game {participant.game + 1} of {many}."
    return _story("Ready", element("p", text), form("/on", submit("Begin", autofocus=True)))


def waiting(config: StudyConfig) -> Markup:
    """The page of a wait for another participant."""
    most = (
        f"{config.study.waiting / 60:.0f} minutes"
        if config.study.waiting >= 120
        else f"{config.study.waiting:.0f} seconds"
    )
    then = "play with a computer program" if config.study.stand_in else "go on without these games"
    return _story(
        "Waiting for another person",
        element(
            "p",
            "You play with another participant. The game begins as soon as one is there.",
            class_="working",
            role="status",
        ),
        element("p", f"If no one comes within {most}, you {then}. You can leave this page open."),
    )


def questions(config: StudyConfig, given: Mapping[str, object], why: str = "") -> Markup:
    """The questionnaire; ``given``: answers so far, by field."""
    rows = [_question(each, str(given.get(each.name, ""))) for each in config.questionnaire]
    head = "Some last questions" if rows else "That was the last game"
    return _story(head, problem(why), form("/answers", *rows, submit("Finish")))


def done(config: StudyConfig, token: str) -> Markup:
    """Thanks, and the completion code of the browser with ``token``."""
    code = element("p", "Your completion code: ", element("strong", completion_code(token), class_="code"))
    return _story(
        "Done",
        paragraphs(config.texts.thanks),
        code,
        element("p", "Write it down before you close this page.", class_="quiet"),
    )


def over(text: str) -> Markup:
    """An end without a completion code."""
    return _story("The end", paragraphs(text))


def leave() -> Markup:
    """Ask for a confirmation before stopping."""
    return _story(
        "Stop taking part?",
        element("p", "You cannot come back. What you did here is left out of whatever is exported."),
        element("p", element("a", "No, go on", class_="button primary large", href="/")),
        form("/leave", element("button", "Yes, stop", class_="button large", type="submit"), hidden={"sure": 1}),
    )


def _question(question: QuestionConfig, given: str) -> Markup:
    if question.kind == "text":
        label = element("label", question.question, for_=f"q_{question.name}")
        area = element("textarea", given, name=question.name, id=f"q_{question.name}", rows="4", maxlength="2000")
        return element("p", label, area, class_="field")
    if question.kind == "choice":
        return choice(
            question.name, question.question, [(str(n), text) for n, text in enumerate(question.options, 1)], given
        )
    options = [(str(n), str(n)) for n in range(1, question.points + 1)]
    ends = [f"{n} = {text}" for n, text in ((1, question.low), (question.points, question.high)) if text]
    ends_ = element("p", *(element("span", end) for end in ends), class_="ends") if ends else None
    return choice(question.name, question.question, options, given, "ask scale-of", ends_)


def _story(head: str, *content: object) -> Markup:
    return element("section", element("h1", head), *content, class_="panel story")
