"""The HTML frame of all pages, served, studied or static: head, navigation, theme button, and pieces of forms.

All markup is inert (:mod:`league.display.svg.markup`). Every page works by plain links and forms; ``static/pages.js``
only makes it smoother. Its attributes:

- ``data-part=ID`` on a form or link: the answer's element ``ID`` replaces the one on the page, without a navigation;
- ``data-into=ID``: it goes into the element ``ID`` instead;
- ``data-load=URL``: the element's content is fetched from there, again every ``data-every`` milliseconds;
- ``data-follow=URL``: the page is fetched again when that address, which waits for a change, answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from league.display.svg.markup import Markup, element, joined

STATIC = Path(__file__).with_name("static")
PAGES = {"/": "Play", "/league": "League", "/arena": "Arena", "/replay": "Replay", "/scores": "Scores"}
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' "
    "rx='8' fill='%230b6e69'/%3E%3Ccircle cx='9' cy='16' r='4' fill='%23fff'/%3E%3Ccircle cx='23' cy='16' r='4' "
    "fill='%23f2a07a'/%3E%3C/svg%3E"
)
Attribute = str | int | bool | None


def asset(name: str) -> str:
    """The address of a static file; it changes with the file, so that no browser uses an outdated copy."""
    return f"/static/{name}?{int((STATIC / name).stat().st_mtime)}"


def document(
    title: str,
    headline: str,
    *content: object,
    scripts: Iterable[str] = (),
    navigation: bool = False,
    where: str = "",
    foot: Markup | None = None,
    follow: str | None = None,
) -> str:
    """A whole HTML page.

    Parameters
    ----------
    title
        Name of the site, or of the study.
    headline
        Name of the page; with ``navigation`` one of :data:`PAGES`, which is then marked as the current one.
    content
        Markup of ``<main>``.
    scripts
        Static files that are loaded after ``pages.js``.
    navigation
        Whether the header links to all :data:`PAGES`.
    where
        Progress of the visitor, such as ``Game 2 of 5``.
    foot
        Markup of the footer.
    follow
        Address that waits for a change of this page; without scripts the page reloads every five seconds.
    """
    reload = element("noscript", element("meta", http_equiv="refresh", content="5")) if follow else None
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="robots", content="noindex"),
        element("title", f"{headline} · {title}"),
        element("link", rel="stylesheet", href=asset("style.css")),
        element("link", rel="icon", href=ICON),
        element("script", src=asset("theme.js")),
        *(element("script", src=asset(name), defer=True) for name in ("pages.js", *scripts)),
        reload,
    )
    mark = (element("span", class_="mark", aria_hidden="true"), element("span", title))
    brand = element("a", *mark, class_="brand", href="/") if navigation else element("p", *mark, class_="brand")
    links = [
        element("a", name, href=path, aria_current="page" if name == headline else None) for path, name in PAGES.items()
    ]
    top = element(
        "header",
        brand,
        element("nav", *links, aria_label="Pages") if navigation else None,
        element("p", where, class_="where") if where else None,
        element("button", class_="theme", type="button", aria_label="Light or dark", title="Light or dark"),
        class_="top",
    )
    body = element(
        "body",
        element("a", "To the content", class_="skip", href="#content"),
        top,
        element(
            "main",
            *content,
            class_=f"page {headline.lower() if navigation else 'study'}",
            id="content",
            tabindex="-1",
            data_follow=follow,
        ),
        element("footer", foot, class_="foot") if foot is not None else None,
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def one_sentence(error: Exception) -> str:
    """An error message on one line with one full stop, without the list of all known names."""
    text = " ".join(str(error).split()).split("; known: ")[0].split("; dond catalogue")[0].rstrip(". ")
    return f"{text}."


def form(
    action: str,
    *inside: object,
    method: str = "post",
    hidden: Mapping[str, object] | None = None,
    **attributes: Attribute,
) -> Markup:
    """A form that is sent to ``action``; ``hidden``: further fields, a value or several of them each."""
    fields = [
        element("input", type="hidden", name=name, value=str(each))
        for name, value in (hidden or {}).items()
        for each in (value if isinstance(value, tuple | list) else (value,))
    ]
    return element("form", *fields, *inside, method=method, action=action, **attributes)


def submit(label: str, class_: str = "button primary large", **attributes: Attribute) -> Markup:
    """The button that sends a form."""
    return element("button", label, class_=class_, type="submit", **attributes)


def problem(text: str) -> Markup:
    """A message on what was wrong, read out by screen readers; empty for no text."""
    return element("p", text, class_="problem", role="alert")


def paragraphs(text: str) -> Markup:
    """A text of the settings; blank lines separate paragraphs."""
    parts = [" ".join(part.split()) for part in text.strip().split("\n\n")]
    return joined(element("p", part) for part in parts if part)


def facts_list(facts: Iterable[tuple[str, object]], class_: str) -> Markup:
    """Terms with their values, as a definition list."""
    return element(
        "dl", *(element("div", element("dt", term), element("dd", value)) for term, value in facts), class_=class_
    )


def select(
    label: str, name: str, options: Mapping[str, str | Mapping[str, str]], chosen: str, **attributes: Attribute
) -> Markup:
    """A labelled menu: options by value, or groups of options by heading."""

    def option(value: str, text: str) -> Markup:
        return element("option", text, value=value, selected=value == chosen)

    rows = [
        option(value, text)
        if isinstance(text, str)
        else element("optgroup", *(option(*each) for each in text.items()), label=value)
        for value, text in options.items()
    ]
    menu = element("select", *rows, name=name, id=f"f-{name}", **attributes)
    return element("div", element("label", label, for_=f"f-{name}"), menu, class_="field")


def text_field(label: str, name: str, value: str = "", **attributes: Attribute) -> Markup:
    """A labelled line of text."""
    attributes = {"autocomplete": "off", "value": value or None, **attributes}
    line = element("input", name=name, id=f"f-{name}", **attributes)
    return element("div", element("label", label, for_=f"f-{name}"), line, class_="field")


def choice(
    name: str,
    question: str,
    options: Iterable[tuple[str, str]],
    chosen: str = "",
    class_: str = "ask",
    note: Markup | None = None,
) -> Markup:
    """Radio buttons, each a value and its label; ``note`` is shown below them."""
    rows = (
        element(
            "label",
            element("input", type="radio", name=name, value=value, required=True, checked=value == chosen),
            element("span", label),
        )
        for value, label in options
    )
    return element(
        "fieldset", element("legend", question), element("div", *rows, class_="options"), note, class_=class_
    )


def load(address: str, text: str = "", every: int | None = None) -> Markup:
    """A place whose content is fetched from ``address``; ``every``: again after so many milliseconds."""
    waiting = element("p", text, class_="quiet", role="status") if text else None
    return element("div", waiting, data_load=address, data_every=every)
