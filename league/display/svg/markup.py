"""HTML and SVG as escaped text: names from a ledger or a file are never markup."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from league.tables.figures import count_noun, points

__all__ = ["Markup", "count_noun", "element", "join", "numbers_table", "points", "svg"]

_EMPTY = frozenset(("br", "hr", "img", "input", "link", "meta", "circle", "line", "path", "polyline", "rect", "use"))


def element(tag: str, /, *inside: object, **attributes: str | float | bool | None) -> Markup:
    """``<tag attributes>inside</tag>``: text is escaped, :class:`Markup` is not.

    Attributes are written with ``-`` for ``_`` (a trailing one is dropped: ``class_``); ``None`` and ``False`` are left
    out, ``True`` is the bare attribute. ``tag`` and the attributes' names are the program's own.
    """
    pairs = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        text = f"{value:g}" if isinstance(value, float) else value
        name_ = key.rstrip("_").replace("_", "-")
        pairs.append(f" {name_}" if value is True else f' {name_}="{escape(text)}"')
    start = f"<{tag}{''.join(pairs)}"
    return Markup(f"{start}/>" if tag in _EMPTY and not inside else f"{start}>{join(inside)}</{tag}>")  # noqa: S704  # escaped above


def join(parts: Iterable[object]) -> Markup:
    """Concatenate parts; plain text is escaped, ``None`` left out."""
    return Markup("").join(escape(part) for part in parts if part is not None)


def numbers_table(caption: str, heads: Iterable[str | None], rows: Iterable[Markup], class_: str = "numbers") -> Markup:
    """A table of ``<tr>`` elements below their headings; ``None`` is an empty corner."""
    cells = (element("td") if head is None else element("th", head, scope="col") for head in heads)
    head, body = element("thead", element("tr", *cells)), element("tbody", *rows)
    return element("table", element("caption", caption), head, body, class_=class_)


def svg(width: float, height: float, label: str, *inside: object, class_: str = "chart") -> Markup:
    """A drawing in its own coordinates, scaled to its place; ``label`` describes it to screen readers."""
    box = f"0 0 {width:g} {height:g}"
    return element("svg", *inside, class_=class_, viewBox=box, role="img", aria_label=label)
