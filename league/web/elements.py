"""HTML elements on a NiceGUI page: native tags with text that is never markup, and attributes that are never parsed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from league.display.svg.markup import Markup

Handler = Callable[..., Any]
VALUE = "(event) => emit(event.target.value)"  # what a select or an input holds


class Tag(TextElement):
    """One HTML element."""

    def __init__(self, tag: str, /, text: str = "", classes: str = "", **attributes: str | int | bool | None) -> None:
        super().__init__(tag=tag, text=text)
        if classes:
            self.classes(classes)
        self.set(**attributes)

    def set(self, **attributes: str | int | bool | None) -> Tag:
        """Change attributes, written with ``-`` for ``_``; ``None`` and ``False`` take one away."""
        with self.props.suspend_updates():
            for key, value in attributes.items():
                name = key.rstrip("_").replace("_", "-")
                if value is None or value is False:
                    self.props.pop(name, None)
                else:
                    self.props[name] = value
        self.update()
        return self

    def say(self, text: str) -> Tag:
        self.text = text
        return self


def in_a_sentence(mistake: Exception) -> str:
    """What a mistake says, on a line with one full stop; of somebody unknown not who else is known."""
    told = " ".join(str(mistake).split()).split("; known: ")[0].split("; dond catalogue")[0].rstrip(". ")
    return f"{told}."


def button(text: str, on_click: Handler, classes: str = "button", **attributes: str | int | bool | None) -> Tag:
    """A button that calls ``on_click`` without arguments."""
    tag = Tag("button", text, classes, type="button", **attributes)
    tag.on("click", lambda _: on_click(), args=[])
    return tag


def html(markup: Markup | None = None, classes: str = "", **attributes: str | int) -> ui.html:
    """A place for inert markup; :func:`show` changes it."""
    place = ui.html(str(markup or ""), sanitize=False)  # league.display.svg.markup has escaped the text in it
    for key, value in attributes.items():
        place.props[key.replace("_", "-")] = value
    return place.classes(classes) if classes else place


def show(place: ui.html, markup: Markup) -> None:
    """Put other markup into a place."""
    place.content = str(markup)


def select(
    label: str,
    options: Mapping[str, str | Mapping[str, str]],
    value: str,
    on_change: Callable[[str], Any],
    **attributes: str | int | bool | None,
) -> Tag:
    """A labelled native select; options by key, or in groups by heading."""
    with Tag("div", classes="field"):
        caption = Tag("label", label)
        with Tag("select", "", "", **attributes) as menu:
            for key, option in options.items():
                if isinstance(option, str):
                    Tag("option", option, value=key, selected=key == value)
                    continue
                with Tag("optgroup", label=key):
                    for inner, text in option.items():
                        Tag("option", text, value=inner, selected=inner == value)
    caption.set(for_=menu.html_id)
    menu.on("change", lambda event: on_change(str(event.args)), js_handler=VALUE)
    return menu


def text_input(label: str, value: str, on_change: Callable[[str], Any], **attributes: str | int | bool | None) -> Tag:
    """A labelled native input that calls ``on_change`` when it is left or entered; it holds ``value`` at first.

    The server does not keep the value: it would be put back over what is being typed whenever anything else changes.
    """
    with Tag("div", classes="field"):
        caption = Tag("label", label)
        field = Tag("input", "", "", defaultValue=value, autocomplete="off", **attributes)
    caption.set(for_=field.html_id)
    field.on("change", lambda event: on_change(str(event.args)), js_handler=VALUE)
    return field
