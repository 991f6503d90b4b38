"""What objectives did to deals: a table for learners and one for models, each difference with its permutation test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.yardsticks.metrics import Estimate, mean_of, mean_over_scenarios, scenario_groups
from league.experiments.language_models.objectives.models import scenarios_of
from league.experiments.language_models.objectives.permutation import paired, unpaired
from league.experiments.language_models.objectives.settings import NULL, ObjectivesConfig
from league.tables.figures import with_margin

CONFIDENCE = 0.95
MEASURES = ("deals", "welfare", "points")

Row = dict[str, Any]


class Bar(NamedTuple):
    """What one objective came to; ``p``: of its difference to the first of its kind, None for that one itself."""

    who: str
    objective: str
    told: str  # the reward or the goal's name
    n: int  # learners or games
    means: dict[str, Estimate]  # of deals 0..1, welfare 0..1, points of ten of a seat
    p: dict[str, float] | None


def learner_bars(config: ObjectivesConfig, rows: Sequence[Row]) -> list[Bar]:
    """One for each pay; a learner counts as one."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if "learner" in row:
            found.setdefault(row["learner"], []).append(row)
    bars: list[Bar] = []
    values = {name: {measure: _each(own, measure) for measure in MEASURES} for name, own in found.items()}
    for name, own in found.items():
        means = {measure: mean_of(values[name][measure].tolist(), CONFIDENCE) for measure in MEASURES}
        first = next(iter(values.values()))
        p = None if not bars else {key: unpaired(first[key], values[name][key], config.seed) for key in MEASURES}
        bars.append(Bar("learner", name, own[0]["reward"], len(own), means, p))
    return bars


def model_bars(config: ObjectivesConfig, rows: Sequence[Row]) -> list[Bar]:
    """One for each model and goal, the null one among them; tested on the same scenarios."""
    groups = scenario_groups(scenarios_of(config))
    bars = []
    for model in dict.fromkeys(row["model"] for row in rows if "model" in row):
        own = [row for row in rows if row.get("model") == model]
        reference = next((row for row in own if row["goal"] == (config.models.twice or own[0]["goal"])), own[0])
        for row in own:
            means = {key: mean_over_scenarios(_games(row, key), groups, CONFIDENCE) for key in MEASURES}
            p = {key: paired(_games(reference, key), _games(row, key), groups, config.seed) for key in MEASURES}
            told = (
                f"as `{config.models.twice}`, byte for byte" if row["goal"] == NULL else _sentence(config, row["goal"])
            )
            bars.append(Bar(model, row["goal"], told, len(row["deals"]), means, None if row is reference else p))
    return bars


def _each(rows: Sequence[Row], measure: str) -> NDArray[np.float64]:
    return np.array([np.mean(row[measure]) for row in rows], dtype=np.float64)


def _games(row: Row, measure: str) -> NDArray[np.float64]:
    """``[K]``, or of points ``[2, K]``."""
    return np.array(row[measure], dtype=np.float64)


def _sentence(config: ObjectivesConfig, name: str) -> str:
    return next((f"“{goal.sentence}”" for goal in config.models.goals if goal.name == name), name)


def markdown(config: ObjectivesConfig, rows: Sequence[Row]) -> str:
    """Both tables, and how to read them."""
    parts = []
    learners, models = learner_bars(config, rows), model_bars(config, rows)
    if learners:
        parts.append(
            f"Learners: PPO that meets only itself, {config.learners.decisions:,} own decisions on training scenarios, "
            f"then playing itself on the held-out ones; {learners[0].n} seeds each, 95 % intervals over seeds, p by "
            "dealing the learners out anew, against the first row."
        )
        parts.append(_table(("paid", "reward"), learners, lambda bar: (f"`{bar.objective}`", f"`{bar.told}`")))
    if models:
        parts.append(
            f"Models, told the goal in both seats: {config.models.scenarios} held-out scenarios, each with the seats "
            f"swapped too, {models[0].n} games a row, 95 % intervals over scenarios, p by swapping the pairs of games "
            f"on the same scenarios, against `{config.models.twice or models[0].objective}`."
        )
        if config.models.twice:
            parts[-1] += (
                f" `{NULL}` is a second copy of that prompt with luck of its own: what a difference between two "
                "prompts must be larger than."
            )
        for model in dict.fromkeys(bar.who for bar in models):
            own = [bar for bar in models if bar.who == model]
            parts.append(f"`{model}`:")
            parts.append(_table(("goal", "sentence"), own, lambda bar: (f"`{bar.objective}`", bar.told)))
    return "\n\n".join(parts)


def _table(heads: tuple[str, str], bars: Sequence[Bar], named: Callable[[Bar], tuple[str, str]]) -> str:
    columns = [*heads, "deals", "p", "welfare", "p", "points of a seat", "p"]
    lines = [columns, ["---"] * len(columns)]
    for bar in bars:
        cells = [*named(bar)]
        for key in MEASURES:
            cells += [with_margin(bar.means[key]), "" if bar.p is None else _p(bar.p[key])]
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
