"""The HTML frame of all pages and their templates.

Markup is written in ``templates/*.html.j2`` as Jinja macros: :func:`render` calls one of them. All text is escaped, so
that names from a ledger or a file are never markup; line breaks between tags and expressions are dropped. Every page
works by plain links and forms; ``static/pages.js`` only makes it smoother. Its attributes:

- ``data-part=ID`` on a form or link: the answer's element ``ID`` replaces the one on the page, without a navigation;
- ``data-into=ID``: it goes into the element ``ID`` instead;
- ``data-load=URL``: the element's content is fetched from there, again every ``data-every`` milliseconds;
- ``data-follow=URL``: the page is fetched again when that address, which waits for a change, answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from dond.charts import open_templates
from dond.table.game import TOO_LATE, act_sentence, describe_act
from dond.table.session import STRANGER
from dond_marl.game import SEATS, rest, worth
from partners.scripted.generated import describe_spec, nickname

STATIC, TEMPLATES = Path(__file__).with_name("static"), Path(__file__).with_name("templates")
PAGES = {"/": "Play", "/league": "League", "/arena": "Arena", "/replay": "Replay", "/scores": "Scores"}
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' "
    "rx='8' fill='%230b6e69'/%3E%3Ccircle cx='9' cy='16' r='4' fill='%23fff'/%3E%3Ccircle cx='23' cy='16' r='4' "
    "fill='%23f2a07a'/%3E%3C/svg%3E"
)


def asset(name: str) -> str:
    """The address of a static file; it changes with the file, so that no browser uses an outdated copy."""
    return f"/static/{name}?{int((STATIC / name).stat().st_mtime)}"


def render(template: str, macro: str, *values: object, **named: object) -> Markup:
    """The markup of a macro of ``templates/TEMPLATE.html.j2``."""
    markup: Markup = getattr(_templates().get_template(template).module, macro)(*values, **named)
    return markup


@lru_cache(maxsize=1)
def _templates() -> Environment:
    helpers = (describe_act, describe_spec, nickname, act_sentence, asset, rest, worth, zip)
    names = {"ICON": ICON, "PAGES": PAGES, "SEATS": SEATS, "STRANGER": STRANGER, "TOO_LATE": TOO_LATE}
    return open_templates(TEMPLATES, **names, **{helper.__name__: helper for helper in helpers})


def document(
    title: str,
    headline: str,
    content: Markup,
    *,
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
    scripts = ("pages.js", *scripts)
    return render("frame", "document", title, headline, content, scripts, navigation, where, foot, follow)


def one_sentence(error: Exception) -> str:
    """An error message on one line with one full stop, without the list of all known names."""
    text = " ".join(str(error).split()).split("; known: ")[0].split("; dond catalogue")[0].rstrip(". ")
    return f"{text}."


def as_sentence(text: str) -> str:
    """A message as a sentence: a capital first and a full stop last."""
    return f"{text[:1].upper()}{text[1:]}."
