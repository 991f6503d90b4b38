"""The human line: results of people in the published dialogues of Lewis et al. 2017, with intervals.

Every row of ``train.txt``, ``val.txt`` and ``test.txt`` is one perspective of one negotiation, and most negotiations
are there from both; together they are the rows of the published ``data.txt``. A row is a deal if both selections were
made and add up to the pool; otherwise both sides get 0. Scores are raw points, of ten for each side. As in games
between partners, intervals are clustered by scenario: see :mod:`dond_marl.statistics`.

The figures are stored next to this file (``human_line.json``: numbers only), so that a report can show them without the
data; ``dond data humans --store`` computes them again from the files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.files import user_path
from dond_marl.game import Triple
from dond_marl.scenarios.data import DEFAULT_DATA_DIR, DIALOGUE_SPLITS, Dialogue, checksum, load_dialogues
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import worth
from dond_marl.solvers.efficiency import efficiency
from dond_marl.statistics import Estimate, mean_over_scenarios, scenario_groups

CONFIDENCE = 0.95  # two-sided, of every interval
FAIR = 5  # points of ten: a deal is fair if it gives both sides at least half of their whole pool
SOURCE = "Lewis et al. 2017, facebookresearch/end-to-end-negotiator, train.txt + val.txt + test.txt, CC BY-NC 4.0"
STORED = Path(__file__).with_name("human_line.json")
DECIMALS = 4  # of stored figures
OF_DEALS = "_of_deals"  # the suffix of figures over deals only

MEANINGS: dict[str, str] = {
    "deals": "share of negotiations that end in a deal",
    "score": "a person's points, no deal counting 0",
    "score_of_deals": "a person's points in a deal",
    "joint_of_deals": "both people's points in a deal",
    "pareto_of_deals": "share of deals that no other split betters for one side without worsening the other",
    "nash_point_of_deals": "share of deals with the highest product of points",
    "most_points_of_deals": "share of deals with the highest sum of points",
    "max_min_of_deals": "share of deals with the highest points for the worse off",
    "fair_of_deals": f"share of deals that give both at least {FAIR} points",
    "nash_product_mean_of_products": "mean over negotiations of the product of both scores, no deal counting 0",
    "nash_product_of_means": "mean score of those who speak first times mean score of those who answer",
    "nash_product_of_deals": "mean over deals of the product of both scores",
    "turns": "turns taken, the closing selection among them",
    "first": "points of those who speak first, no deal counting 0",
    "second": "points of those who answer, no deal counting 0",
    "first_of_deals": "points in a deal of those who speak first",
    "second_of_deals": "points in a deal of those who answer",
    "first_minus_second": "advantage of speaking first, no deal counting 0",
    "first_minus_second_of_deals": "advantage of speaking first in a deal",
}


@dataclass(frozen=True, slots=True)
class HumanLine:
    """The figures by name (see ``MEANINGS``), and their source files."""

    figures: Mapping[str, Estimate]
    files: Mapping[str, str]  # SHA-256 of each file
    perspectives: int  # rows of all files
    source: str = SOURCE


def human_line(data_dir: str | Path | None = None) -> HumanLine:
    """The figures computed from the three dialogue files. Raises :class:`dond_marl.scenarios.data.DataError`."""
    rows = [row for split in DIALOGUE_SPLITS for row in load_dialogues(split, data_dir)]
    names = [f"{split}.txt" for split in DIALOGUE_SPLITS]
    folder = DEFAULT_DATA_DIR if data_dir is None else user_path(data_dir)
    files = {name: checksum((folder / name).read_bytes()) for name in names}
    return HumanLine(_figures(rows), files, len(rows))


def stored_human_line() -> HumanLine:
    """The figures stored in the package."""
    value = json.loads(STORED.read_text(encoding="utf-8"))
    figures = {name: Estimate(**fields) for name, fields in value["figures"].items()}
    return HumanLine(figures, value["files"], value["perspectives"], value["source"])


def to_json(line: HumanLine) -> dict[str, Any]:
    """The figures as plain JSON values, rounded to ``DECIMALS``."""
    figures = {
        name: {field: round(number, DECIMALS) for field, number in figure._asdict().items()}
        for name, figure in line.figures.items()
    }
    counted = {"source": line.source, "files": dict(line.files), "perspectives": line.perspectives}
    return {**counted, "confidence": CONFIDENCE, "figures": figures}


def as_lines(line: HumanLine) -> list[str]:
    """The figures as lines of a plain-text table."""
    lines = [f"{line.perspectives:,} perspectives of negotiations between people ({line.source})"]
    for name, figure in line.figures.items():
        scale, unit = (100, " %") if MEANINGS[name].startswith("share") else (1, "")
        low, high = scale * figure.low, scale * figure.high
        doubt = f"[{low:.2f}, {high:.2f}]  n = {figure.n:,}"
        lines.append(f"  {name:<30} {scale * figure.mean:>6.2f}{unit:<2}  {doubt:<28} {MEANINGS[name]}")
    return lines


def store(line: HumanLine, path: Path = STORED) -> None:
    """Write the figures to a file, by default the package's own."""
    path.write_text(json.dumps(to_json(line), indent=1) + "\n", encoding="utf-8")


def selection(row: Dialogue) -> Triple | None:
    """The items of the row's own side in the deal; ``None`` without a deal."""
    if not all(part.startswith("item") for part in row.output):
        return None
    numbers = [int(part.partition("=")[2]) for part in row.output]
    own_items, partner_items = tuple(numbers[:3]), tuple(numbers[3:])
    if any(a + b != count for a, b, count in zip(own_items, partner_items, row.counts, strict=True)):
        return None
    return own_items  # type: ignore[return-value]  # three of six


def _figures(rows: Sequence[Dialogue]) -> dict[str, Estimate]:
    scenarios = Scenarios(
        np.array([row.counts for row in rows], dtype=np.int8),
        np.array([(row.my_values, row.partner_values) for row in rows], dtype=np.int8),
    )
    groups = scenario_groups(scenarios)
    shares = [selection(row) for row in rows]
    deal = np.array([share is not None for share in shares])
    items = np.array([share or (0, 0, 0) for share in shares], dtype=np.int8)
    points = worth(scenarios.utilities, np.stack([items, scenarios.counts - items], axis=1)) * deal[:, None]  # [N, 2]
    reached = efficiency(scenarios, points, deal)  # 1 is the best there is
    product = points[:, 0] * points[:, 1]
    opens = np.array([row.words[0] == "YOU:" for row in rows])
    turns = np.array([sum(word in ("YOU:", "THEM:") for word in row.words) for row in rows])
    # First and second speakers are compared within the same rows: some negotiations have one perspective only, so the
    # rows of first speakers and those of second speakers do not hold the same negotiations.
    by_turn = np.where(opens[:, None], points, points[:, ::-1])  # [N, 2] the first speaker's, the second's

    first, second = by_turn.mean(axis=0)
    values = {
        "deals": deal,
        "score": points[:, 0],
        "joint": points.sum(axis=1),
        "pareto": reached.pareto,
        "nash_point": reached.nash == 1,
        "most_points": reached.welfare == 1,
        "max_min": reached.egalitarian == 1,
        "fair": points.min(axis=1) >= FAIR,
        "nash_product": product,
        "nash_product_mean_of_products": product,
        # The product of two means, made linear around them for its interval.
        "nash_product_of_means": by_turn[:, 0] * second + by_turn[:, 1] * first - first * second,
        "turns": turns,
        "first": by_turn[:, 0],
        "second": by_turn[:, 1],
        "first_minus_second": by_turn[:, 0] - by_turn[:, 1],
    }

    def mean(name: str) -> Estimate:
        among = deal if name.endswith(OF_DEALS) else None
        return mean_over_scenarios(values[name.removesuffix(OF_DEALS)], groups, CONFIDENCE, among)

    return {name: mean(name) for name in MEANINGS}
