"""What was found, as tables in Markdown: how well people's words are foreseen, and what the models get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dond_marl.yardsticks.metrics import Estimate, mean_of
from league.experiments.field.words.experiment import AS_ACTS, CONFIDENCE, IN_WORDS
from league.tables.figures import with_margin

Line = dict[str, Any]
HEADS = (
    "against", "models", "games", "points, its own", "points, the other's", "agreed, own", "agreed, other's", "deals",
    "Pareto, of deals", "sentences read at once", "never read",
)  # fmt: skip


def markdown(found: Sequence[Line]) -> str:
    """The perplexity, then a row for each whom the models met: means over models, 95 % intervals over them."""
    models = [line for line in found if "against" not in line]
    heads = [f"| {' | '.join(HEADS)} |", f"| {' | '.join(['---'] * len(HEADS))} |"]
    met = dict.fromkeys(line["against"] for line in found if "against" in line)
    rows = [_row(who, [line for line in found if line.get("against") == who]) for who in met]
    return "\n".join([told(models), "", *heads, *rows]) + "\n"


def told(models: Sequence[Line]) -> str:
    """How well unseen dialogues are foreseen, in a sentence."""
    val, test = (mean_of([line[key] for line in models], CONFIDENCE) for key in ("val", "test"))
    size = models[0]
    return (
        f"{len(models)} models of {size['words']} words, each learned from {size['lines']:,} lines of dialogue: "
        f"perplexity of a word {with_margin(test)} on test.txt and {with_margin(val)} on val.txt."
    )


def _row(who: str, lines: Sequence[Line]) -> str:
    own, left, own_agreed, left_agreed = (
        with_margin(_over(lines, key)) for key in ("points", "left", "points_agreed", "left_agreed")
    )
    deals, pareto = (with_margin(_over(lines, key), "share") for key in ("deals", "pareto"))
    name = who if who in (IN_WORDS, AS_ACTS) else f"`{who}`"
    if who == IN_WORDS:
        read = mean_of([1 - line["unread"] / max(line["sentences"], 1) for line in lines], CONFIDENCE)
        never = ""
    else:
        read = mean_of([line["first"] / line["decisions"] for line in lines], CONFIDENCE)
        never = with_margin(mean_of([line["fallen"] / line["decisions"] for line in lines], CONFIDENCE), "share")
    games = sum(line["games"] for line in lines)
    cells = [name, str(len(lines)), f"{games:,}", own, left, own_agreed, left_agreed, deals, pareto]
    return f"| {' | '.join([*cells, with_margin(read, 'share'), never])} |"


def _over(lines: Sequence[Line], key: str) -> Estimate:
    """The mean over models; of one, its own interval over scenarios."""
    if len(lines) == 1:
        plain = lines[0][key]
        mean, low, high = (float("nan") if plain[name] is None else plain[name] for name in ("mean", "low", "high"))
        return Estimate(mean, plain["n"], low, high)
    return mean_of([line[key]["mean"] for line in lines if line[key]["mean"] is not None], CONFIDENCE)


HOW = (
    "In words: both hear what the other wrote, and the annotator reads the split on the table when somebody ends the "
    "talk. Heard as acts, and against others: our game of ten turns; each sentence is read as an act, drawn anew where "
    "it is none, and acts are heard in the wordings of our records. Its own points are of who opens against itself, of "
    "both seats against others; ± is a 95 % interval over the models."
)

PAPER = (
    "Beside it, the likelihood model of the paper against itself: 5.4 and 5.5 points of all games, 6.2 and 6.2 of "
    "agreed ones, 87.9 % agreed, 49.6 % of deals Pareto-optimal (Lewis et al. 2017, section 6; read as a stored "
    "excerpt). The paper's own perplexities could not be read anywhere; a log of its published code, trained anew, "
    "says 6.02 on val.txt after 19 epochs (facebookresearch/end-to-end-negotiator, pull request 21, read as a stored "
    "excerpt). That code learns from every line of train.txt; ours leaves out scenarios that are held out here."
)
