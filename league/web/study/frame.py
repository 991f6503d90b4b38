"""What all pages of a study share: a document of inert markup, forms that work without a script, and their pieces."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from league.display.svg.markup import Markup, element, joined
from league.web import __file__ as web_room

STATIC = Path(__file__).with_name("static")
SHARED = Path(web_room).with_name("static")  # the style and the items of the pages of `dond web`
SHARED_FILES = ("style.css", "book.svg", "hat.svg", "ball.svg")
OWN_FILES = ("study.css", "study.js")
POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # without any, a browser sends forms of the null origin
    "cache-control": "no-store",
}


def document(
    title: str, headline: str, *content: object, where: str = "", waits: int | None = None, leaves: bool = False
) -> str:
    """A whole page. ``where``: how far the participant is; ``waits``: the version that a change is waited for from.

    ``leaves``: whether there is something to stop taking part in.
    """
    again = element("noscript", element("meta", http_equiv="refresh", content="5")) if waits is not None else None
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="robots", content="noindex"),
        element("title", f"{headline} · {title}"),
        *(element("link", rel="stylesheet", href=f"/static/{name}") for name in ("style.css", "study.css")),
        element("link", rel="icon", href="/static/ball.svg"),
        element("script", src="/static/study.js", defer=True),
        again,
    )
    top = element(
        "header",
        element("p", element("span", class_="mark", aria_hidden="true"), element("span", title), class_="brand"),
        element("p", where, class_="where") if where else None,
        class_="top",
    )
    stop = form("/leave", element("button", "Stop taking part", class_="link", type="submit")) if leaves else None
    body = element(
        "body",
        element("a", "To the content", class_="skip", href="#content"),
        top,
        element("main", *content, class_="page study", id="content", tabindex="-1"),
        element("footer", stop, class_="foot") if stop is not None else None,
        data_waits=None if waits is None else str(waits),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def form(action: str, *inside: object, class_: str | None = None, **hidden: str | int) -> Markup:
    """A form that is sent to ``action``, with hidden fields."""
    fields = (element("input", type="hidden", name=name, value=str(value)) for name, value in hidden.items())
    return element("form", *fields, *inside, method="post", action=action, class_=class_)


def paragraphs(text: str) -> Markup:
    """A text of the settings; a blank line begins a paragraph."""
    parts = [" ".join(part.split()) for part in text.strip().split("\n\n")]
    return joined(element("p", part) for part in parts if part)


def problem(text: str) -> Markup | None:
    """What was wrong with what was sent, read out at once."""
    return element("p", text, class_="problem", role="alert") if text else None


def submit(label: str, **attributes: str | bool | None) -> Markup:
    """The large button of a form."""
    return element("button", label, class_="button primary large", type="submit", **attributes)


def choice(
    name: str,
    question: str,
    options: Iterable[tuple[str, str]],
    chosen: str = "",
    class_: str = "ask",
    told: Markup | None = None,
) -> Markup:
    """One of several, each a value and its label; ``told`` explains them."""
    rows = (
        element(
            "label",
            element("input", type="radio", name=name, value=value, required=True, checked=value == chosen),
            element("span", label),
        )
        for value, label in options
    )
    return element(
        "fieldset", element("legend", question), element("div", *rows, class_="options"), told, class_=class_
    )
