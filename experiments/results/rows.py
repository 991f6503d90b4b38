"""Rows of the short tables: each figure with its interval, its scope, and its results file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.statistics import Estimate
from experiments.baselines.plan import BaselinesConfig
from experiments.hint_tables import hint_rows, parse_hints
from experiments.hints import HintExperiment
from experiments.results.files import COMPARISONS, GAMES, ROOT, bench_rows, document, exists
from league.bench.arms import NASHCONV, Arm
from league.bench.differences import MINUS, SMALLEST_EFFECT
from league.bench.table import WORST_TENTH, Board, boards, main_cells
from league.settings.read import load_config
from league.tables.blocks import Cell, Figure
from league.tables.figures import count_noun, with_margin
from partners.rosters import ROSTERS

REFERENCE = {  # the arm that others are compared with, in files of no comparison
    "exploiters.jsonl": "exploiter",
    "beliefs.jsonl": "own",
}
ARMS = {  # descriptions of arms and other names
    "pool_ppo": "plain PPO on the train roster",
    "self_play": "naive self-play",
    "expert_recipe": "the shipped expert's recipe",
    "league": "the default league",
    "league_whole": "the default league, whole",
    "pool_ppo_whole": "plain PPO, whole budget",
    "repair_whole": "the league with repair, whole",
    "itself_0": "plain PPO that never plays itself",
    **{f"itself_{part}": f"plain PPO, {part} % of its games against itself" for part in (5, 10, 25, 50, 75, 90)},
    "itself_100": "plain PPO that only plays itself",
    "nfsp": "fictitious self-play with a learned average, NFSP",
    "mmd": "regularised self-play, MMD",
    "psro": "PSRO, its last oracle",
    "jpsro": "JPSRO, its last oracle",
    "jpsro_ce": "JPSRO by a correlated equilibrium, its last oracle",
    "fcp": "fictitious co-play, FCP",
    "alphastar": "AlphaStar's league",
    "no_exploiters": "the league without exploiters",
    "no_regret": "the league without regret",
    "no_gate": "the league without a gate",
    "no_past": "the league without past selves",
    "no_curriculum": "the league without a curriculum",
    "with_repair": "the league with repair",
    "with_novelty": "the league with snapshots for what they add alone",
    "with_history": "the league with networks that read the history",
    "none": "a smaller league without a curriculum",
    "turns": "with a first stage of short games",
    "opponents": "with a first stage against fixed members alone",
    "scenarios": "with a first stage of pools and values of any worth",
    "hints": "with a first stage of hints",
    "best_fixed": "the best member of the train roster",
    "random": "chance",
    "heuristic": "the default partner",
    "expert": "the shipped expert",
    "ppo_fast": "`configs/ppo_fast.yaml`, 1M decisions, against its training partner",
    "by_points": "a small league, selection by points",
    "by_wins": "a small league, selection by wins",
    "memoryless": "the expert's recipe, 600k decisions, without memory",
    "history": "the recipe with the whole history",
    "memoryless_joint": "the recipe with all splits of a pool as one distribution",
    "taught_memoryless": "targets from the best response, 200k decisions, without the history",
    "taught_history": "targets from the best response, 200k decisions, with the history",
    "history_joint": "the recipe with both",
    "paid_for_more": "a small league rewarded for the difference of scores",
}
CONFIGS = ROOT / "experiments" / "configs"
EVERY_ROSTER = ("expert.jsonl",)  # all rosters; of other files the held-out one alone if measured
SPEED = ("batched engine, uniform-legal", "AEC env()", "PPO training")  # rows of the benchmark in the short table


class ShortRow(NamedTuple):
    """A row of a short table."""

    label: str
    figure: str
    scope: str  # seeds, roster, scenarios or utterances
    file: str  # under docs/results


def every_row(folder: Path) -> list[ShortRow]:
    """The rows of all existing files, in the order of the page."""
    return [row for name, rows in ROWS.items() if exists(name, folder) for row in rows(name, folder)]


@cache
def read_boards(name: str, folder: Path) -> list[Board]:
    """The leaderboards of a results file of the benchmark, compared with the reference arm, by protocol.

    Read once in a process: the differences take seconds.
    """
    rows, reference, effect = bench_rows(name, folder), REFERENCE.get(name), SMALLEST_EFFECT
    config = CONFIGS / Path(name).with_suffix(".yaml")
    if config.is_file():
        comparison = load_config(config, (), BaselinesConfig).comparison
        reference, effect = comparison.reference, comparison.smallest_effect
    return boards(rows, reference, effect)


def bench_short_rows(name: str, folder: Path) -> Iterator[ShortRow]:
    """One row per arm, on the held-out roster if measured, and differences from the reference arm."""
    found = read_boards(name, folder)
    for benchmark, arms, compared, _ in found if name in EVERY_ROSTER else found[:1]:
        for arm in arms:
            figure = _points(main_cells(arm), benchmark["partners"])
            yield ShortRow(describe_arm(arm.name), figure, scope(benchmark, arm, format_seeds(arm)), name)
        seeds = {arm.name: len(arm.rows) for arm in arms}
        for each in compared:
            label = f"{describe_arm(each.name)} {MINUS} `{each.over}`"
            number = count_noun(min(seeds[each.name], seeds[each.over]), "seed")
            p = each.points.adjusted
            figure = each.words + ("" if math.isnan(p) else f"; p {each.format_p(p)} (Holm)")
            yield ShortRow(label, figure, scope(benchmark, arms[0], number), name)


def describe_arm(arm: str) -> str:
    """An arm's description and name."""
    return f"{ARMS[arm]} (`{arm}`)" if arm in ARMS else arm


def _points(cells: Mapping[str, Cell], partners: int) -> str:
    """Points, NashConv, share of the reference, and the worst tenth of the partners, as far as known."""
    parts = [f"{format_figure(cells['points'])} points of ten"]
    for head, text in (
        (NASHCONV, f"{NASHCONV} "),
        ("BR-Prox", "Best-Response Proximity "),
        (WORST_TENTH, "worst tenth "),
    ):
        cell = cells[head]
        if isinstance(cell, Figure) and cell.is_known and (head != WORST_TENTH or partners > 1):
            parts.append(text + format_figure(cell))
    return "; ".join(parts)


def format_figure(cell: Cell) -> str:
    """A figure with half its interval."""
    assert isinstance(cell, Figure)
    return with_margin(*cell)


def format_seeds(arm: Arm) -> str:
    """The number of seeds, and the acts of each training, as far as known."""
    own = arm.rows[0]["submission"]
    if not own["learned"]:
        return "nothing learned"
    return count_noun(len(arm.rows), "seed") + (f" of {number(own['acts'])} acts" if own["acts"] else "")


def scope(benchmark: Mapping[str, Any], arm: Arm, seeds: str) -> str:
    """The scope of an arm's figures."""
    roster, partners = benchmark["roster"], benchmark["partners"]
    named = dict.fromkeys(f"`{cell['partner']}`" for cell in arm.rows[0]["cells"])
    partner_names = f"roster {roster}, {partners} partners" if roster in ROSTERS else ", ".join(named)
    seen = len(arm.rows[0]["submission"]["met_here"])
    past = f"; {seen} of {partners} seen in training" if seen else ""
    return f"{seeds}; {partner_names}, both seats; {benchmark['headline']}{past}"


def people_short_rows(name: str, folder: Path) -> Iterator[ShortRow]:
    """Accuracy of the behaviour-cloned policy, first in replies, as nearly all openings propose."""
    report = document(name, folder)
    own, majority, heuristic = report["likeness"]["accuracy"], report["majority"], report["heuristic"]
    for part, more, scope in (
        ("replies", report["more_than_majority"][1], "people's replies"),
        ("everywhere", report["more_than_majority"][0], "people's acts, openings included"),
    ):
        baselines = f"always PROPOSE {share(majority[part])}, the heuristic {share(heuristic[part])}"
        missed = "" if more["mean"] >= BAR else f"; the goal of {100 * BAR:.0f} more was missed"
        yield ShortRow(
            f"accuracy of the behaviour-cloned policy in predicting {scope} (noisy labels, see below)",
            f"{share(own[part])}; {baselines}; {_format_gain(more)} than always PROPOSE{missed}",
            f"n = {own[part]['n']:,} of test",
            name,
        )


BAR = 0.15  # goal of the supervised expert: accuracy above the majority class


def label_short_rows(name: str, folder: Path) -> Iterator[ShortRow]:
    """Noise of the labels of people's acts."""
    agreement = document(name, folder)["agreement"]
    both, between = agreement["annotator"][2], agreement["between_acts"]
    noise, merged = (1 - both[key]["mean"] for key in ("read_right", "read_right_but_end"))
    yield ShortRow(
        "label noise: people's acts with another label by the annotator, or that are no acts",
        f"{noise:.1%} [{1 - both['read_right']['high']:.1%}, {1 - both['read_right']['low']:.1%}]; {merged:.1%} if "
        f"DISAGREE and END count as one; kappa {_kappa(both['acts'])} with two readings "
        f"by a language model, {_kappa(between)} between them",
        f"n = {both['read_right']['n']:,} utterances of test on which both readings agree",
        name,
    )


def language_model_short_rows(name: str, folder: Path) -> Iterator[ShortRow]:
    """Points of a pretrained language model, and its share of legal answers."""
    report = document(name, folder)
    member, answers = report["member"], report["answers"][report["member"]]
    both, best = report["figures"][member]["both seats"], report["shares_of_own_points"]["best response"]["both seats"]
    figure = (
        f"{estimate(both['points'], 'points')} points of ten; {share(best)} of the best response's; a deal in "
        f"{share(both['deals'])} of the games; {answers['answered']:,} of {answers['asked']:,} decisions its own"
    )
    scenarios = report["scenarios"]
    scope = f"against {report['against']}; {scenarios['number']:,} scenarios of {scenarios['source']}, both seats"
    yield ShortRow(f"`{member}`", figure, f"{scope}, {answers['games']:,} games", name)


def hint_short_rows(name: str, folder: Path) -> Iterator[ShortRow]:
    """Play without hints after training with hints, compared with training without."""
    experiment = read_hints(name, folder)
    for row in hint_rows(experiment):
        figure = f"{with_margin(row.alone, 'share')} of the best response, without hints"
        if not math.isnan(row.gain.mean):
            more = f"{100 * row.gain.mean:+.1f} [{100 * row.gain.low:+.1f}, {100 * row.gain.high:+.1f}]"
            figure += f"; difference from never hinted {more} percentage points, p = {row.p:.2g} (Holm)"
        label = "never hinted" if math.isnan(row.gain.mean) else f"trained with hints: {row.arm.name}"
        yield ShortRow(
            label, figure, f"{count_noun(row.seeds, 'seed')} of {number(row.acts)} acts; {experiment.label}", name
        )


def read_hints(name: str, folder: Path) -> HintExperiment:
    """The hint experiment in a results file."""
    return parse_hints((folder / name).read_text(encoding="utf-8"))


def speed_short_rows(name: str, folder: Path) -> Iterator[ShortRow]:
    """Rates, with workload, threads and unit."""
    for row in document(name, folder)["rows"]:
        if row["what"] in SPEED and row["theirs"] is not None:
            threads = count_noun(row["threads"], "thread")
            yield ShortRow(row["what"], format_rate(row), f"{threads}; {row['workload'].split(';')[0]}", name)


def format_rate(row: Mapping[str, Any]) -> str:
    """A rate, compared with a peer's."""
    value = f"{number(row['ours'])} {row['unit']}"
    if row["theirs"] is None:
        return value
    digits = 1 if row["ratio"] >= 1 else 2
    return f"{value}, {row['ratio']:.{digits}f} times {row['peer']} ({number(row['theirs'])})"


def number(value: float) -> str:
    """Three digits, with thousands and millions as letters."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def share(value: Mapping[str, Any]) -> str:
    """A share with half its interval."""
    return estimate(value, "share")


def estimate(value: Mapping[str, Any], unit: Any) -> str:
    """A mean with half its interval, if it has one."""
    ends = (math.nan if value[end] is None else float(value[end]) for end in ("low", "high"))
    return with_margin(Estimate(float(value["mean"]), value["n"], *ends), unit)


def _format_gain(value: Mapping[str, Any]) -> str:
    return f"{100 * value['mean']:.1f} ±{50 * (value['high'] - value['low']):.1f} points of accuracy more"


def _kappa(value: Mapping[str, Any]) -> str:
    low, high = value["kappa"]["low"], value["kappa"]["high"]
    return f"{value['kappa']['mean']:.2f} [{low:.2f}, {high:.2f}]"


ROWS: dict[str, Callable[[str, Path], Iterator[ShortRow]]] = {
    **{f"{name}.jsonl": bench_short_rows for name in ("expert", "baselines", *COMPARISONS, "ppo_fast")},
    **dict.fromkeys(GAMES, language_model_short_rows),
    "people.json": people_short_rows,
    "annotator.json": label_short_rows,
    "hints.jsonl": hint_short_rows,
    "speed.json": speed_short_rows,
}
