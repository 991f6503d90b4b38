"""The axes of a chart: where values lie in a drawing, its grid with the ticks, and what stands beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from league.display.svg.markup import Markup, element


class Axes(NamedTuple):
    """Values 0..``across`` and 0..``up`` in a drawing of ``width`` and ``height`` with margins around them."""

    width: float
    height: float
    across: float
    up: float
    left: float = 40
    top: float = 14
    right: float = 14
    bottom: float = 40
    from_left: float = 7  # of the numbers beside the plane
    from_below: float = 15

    def x(self, value: float) -> float:
        return self.left + value / self.across * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        return self.height - self.bottom - value / self.up * (self.height - self.top - self.bottom)

    def columns(self, values: Iterable[int], *, lines: bool = True) -> Iterator[Markup]:
        """What stands at values of the horizontal axis: a line each, if wanted, and the number below it."""
        for value in values:
            x = self.x(value)
            if lines:
                yield element("line", class_="grid", x1=x, x2=x, y1=self.y(0), y2=self.y(self.up))
            label = (
                f"{value / 1_000_000:g}M" if value >= 1_000_000 else f"{value / 1000:g}k" if value >= 1000 else value
            )
            y = self.y(0) + self.from_below
            yield element("text", label, class_="tick", x=x, y=y, text_anchor="middle")

    def rows(self, values: Iterable[int]) -> Iterator[Markup]:
        """What stands at values of the vertical axis: a line each, and the number left of it."""
        for value in values:
            y = self.y(value)
            yield element("line", class_="grid", x1=self.x(0), x2=self.x(self.across), y1=y, y2=y)
            x = self.x(0) - self.from_left
            yield element("text", value, class_="tick", x=x, y=y + 3.5, text_anchor="end")

    def below(self, title: str) -> Markup:
        """The title of the horizontal axis."""
        x, y = self.x(self.across / 2), self.height - 6
        return element("text", title, class_="axis", x=x, y=y, text_anchor="middle")

    def beside(self, title: str) -> Markup:
        """The title of the vertical axis."""
        y = self.y(self.up / 2)
        turned = f"rotate(-90 12 {y:g})"
        return element("text", title, class_="axis", x=12, y=y, text_anchor="middle", transform=turned)
