"""The pages beside the game: consent, instructions, check, waiting, questionnaire, and the ends."""

from __future__ import annotations

from league.display.svg.markup import Markup, element
from league.web.study.frame import choice, form, paragraphs, problem, submit
from league.web.study.hall import completion_code
from league.web.study.progress import Participant
from league.web.study.settings import QuestionConfig, StudyConfig


def consent(config: StudyConfig, why: str = "") -> Markup:
    """What one agrees to, with a box to tick."""
    left = config.templates_left
    warned = element(
        "p",
        f"This is a template: texts.{', texts.'.join(left)} must be written before anybody takes part.",
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
    """How the game goes."""
    return _story("How it works", paragraphs(config.texts.instructions), form("/read", submit("Continue")))


def check(config: StudyConfig, participant: Participant, given: dict[str, str], why: str = "") -> Markup:
    """Questions about the instructions; ``given``: what was answered, by name."""
    left = config.study.attempts - participant.attempts
    wrong = "Not all of this was right. Please read the instructions again." if participant.attempts else ""
    tries = f"You have {left} {'tries' if left > 1 else 'try'} left."
    again = element(
        "details", element("summary", "The instructions"), paragraphs(config.texts.instructions), class_="more"
    )
    asked = (
        choice(
            f"q{place}",
            each.question,
            [(str(n), text) for n, text in enumerate(each.options, 1)],
            given.get(f"q{place}", ""),
        )
        for place, each in enumerate(config.check)
    )
    return _story(
        "A few questions first",
        problem(why or wrong),
        element("p", tries, class_="quiet"),
        again,
        form("/check", *asked, submit("Answer")),
    )


def ready(config: StudyConfig, participant: Participant) -> Markup:
    """Before a game that follows none."""
    many = config.games_each
    told = f"You are going to play {many} games." if many > 1 else "You are going to play one game."
    if participant.game:
        told = f"Now comes game {participant.game + 1} of {many}."
    return _story("Ready", element("p", told), form("/on", submit("Begin", autofocus=True)))


def waiting(config: StudyConfig) -> Markup:
    """While nobody is there to play with."""
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
            "You play with another participant. The game begins as soon as somebody is there.",
            class_="working",
            role="status",
        ),
        element("p", f"If nobody comes within {most}, you {then}. You can leave this page open."),
    )


def questions(config: StudyConfig, given: dict[str, str], why: str = "") -> Markup:
    """The questionnaire; ``given``: what was answered, by name."""
    asked = [_question(each, given.get(each.name, "")) for each in config.questionnaire]
    head = "Some last questions" if asked else "That was the last game"
    return _story(head, problem(why), form("/answers", *asked, submit("Finish")))


def done(config: StudyConfig, token: str) -> Markup:
    """Thanks, and the completion code of whoever keeps ``token``."""
    code = element("p", "Your completion code: ", element("strong", completion_code(token), class_="code"))
    return _story(
        "Done",
        paragraphs(config.texts.thanks),
        code,
        element("p", "Write it down before you close this page.", class_="quiet"),
    )


def over(text: str) -> Markup:
    """An end without a code."""
    return _story("The end", paragraphs(text))


def leave() -> Markup:
    """Asks whether somebody wants to stop."""
    return _story(
        "Stop taking part?",
        element("p", "You cannot come back. What you did here is left out of whatever is exported."),
        element("p", element("a", "No, go on", class_="button primary large", href="/")),
        form("/leave", element("button", "Yes, stop", class_="button large", type="submit"), sure=1),
    )


def enter(why: str = "") -> Markup:
    """Asks for the password."""
    field = element(
        "p",
        element("label", "Password of the study", for_="password"),
        element(
            "input", type="password", name="password", id="password", required=True, autocomplete="off", autofocus=True
        ),
        class_="field",
    )
    return _story("A password, please", form("/enter", field, problem(why), submit("Enter")))


def _question(asked: QuestionConfig, given: str) -> Markup:
    if asked.kind == "text":
        label = element("label", asked.question, for_=f"q_{asked.name}")
        area = element("textarea", given, name=asked.name, id=f"q_{asked.name}", rows="4", maxlength="2000")
        return element("p", label, area, class_="field")
    if asked.kind == "choice":
        return choice(asked.name, asked.question, [(str(n), text) for n, text in enumerate(asked.options, 1)], given)
    options = [(str(n), str(n)) for n in range(1, asked.points + 1)]
    ends = [f"{n} = {text}" for n, text in ((1, asked.low), (asked.points, asked.high)) if text]
    told = element("p", *(element("span", end) for end in ends), class_="ends") if ends else None
    return choice(asked.name, asked.question, options, given, "ask scale-of", told)


def _story(head: str, *content: object) -> Markup:
    return element("section", element("h1", head), *content, class_="panel story")
