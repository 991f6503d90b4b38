"""The objective experiment as a figure: shares of deals and welfare by objective, with intervals.

Matplotlib is an optional extra; it is loaded only when a figure is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from league.display.plane import DOTS, INK, PAPER, check_drawable, open_axes
from league.experiments.language_models.objectives.findings import Bar

SIZE = (9.6, 4.2)  # inches
COLOURS = {"deals": "#0072b2", "welfare": "#d55e00"}  # Okabe and Ito 2008
_WIDTH = 0.38  # of a bar, where one objective has 1


def draw(path: Path, learners: Sequence[Bar], models: Sequence[Bar]) -> None:
    """Write the figure, learners on the left, the first model on the right.

    Raises :class:`league.display.plane.PlotError`.
    """
    check_drawable(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # an optional extra, and slow to import
    from matplotlib.figure import Figure

    picture = Figure(figsize=SIZE, dpi=DOTS, facecolor=PAPER)
    FigureCanvasAgg(picture)
    panels = picture.subplots(1, 2, sharey=True)
    picture.subplots_adjust(left=0.07, right=0.985, bottom=0.2, top=0.84, wspace=0.06)
    of_first = [bar for bar in models if bar.who == models[0].who]
    sides = ((learners, "learners, paid for"), (of_first, "a language model, told to aim at"))
    for axes, (bars, title) in zip(panels, sides, strict=True):
        open_axes(axes, title)
        for side, (measure, colour) in zip((-0.5, 0.5), COLOURS.items(), strict=True):
            means = [bar.means[measure] for bar in bars]
            heights = [mean.mean for mean in means]
            errors = [
                [max(0.0, mean.mean - mean.low) for mean in means],
                [max(0.0, mean.high - mean.mean) for mean in means],
            ]
            places = [place + side * _WIDTH for place in range(len(bars))]
            axes.bar(places, heights, _WIDTH, color=colour, label=measure, yerr=errors, capsize=3, ecolor=INK)
        axes.set_xticks(range(len(bars)), [bar.objective for bar in bars], color=INK)
        axes.set_ylim(0, 1.05)
    panels[0].set_ylabel("share, 0 to 1", color=INK)
    picture.suptitle("What one aims at, and what that does to deals", color=INK, fontsize=11, x=0.07, ha="left")
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="lower center", ncols=2, frameon=False, fontsize=9, labelcolor=INK)
    picture.savefig(path)
