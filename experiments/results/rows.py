"""The rows of the short tables: each figure with its interval, what it is over, and the file that it comes from."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl import statistics
from dond_marl.game import SEATS
from dond_marl.statistics import Estimate
from experiments.baselines import exploited
from experiments.hints import findings
from experiments.hints.experiment import Arm as HintArm
from experiments.hints.experiment import Experiment, Mark
from experiments.hints.settings import ExperimentConfig
from experiments.results.files import ROOT, document, lines, there
from experiments.results.language_model_files import GAMES
from league.bench.table import Arm, arms_by_protocol, leaderboard
from league.settings.read import load_config
from league.tables.blocks import Cell, Figure, Section, Table
from league.tables.figures import with_margin
from partners.rosters import ROSTERS

REFERENCE = {
    "baselines.jsonl": "pool_ppo",
    "ablation.jsonl": "league",
    "full_budget.jsonl": "pool_ppo_whole",
    "exploiters.jsonl": "exploiter",
    "robust.jsonl": "itself_0",
    "curricula.jsonl": "none",
    "selection.jsonl": "by_points",
    "memory.jsonl": "memoryless",
    "taught.jsonl": "taught_memoryless",
    "beliefs.jsonl": "own",
}  # the arm that others are compared with
ARMS = {  # what the arms of the comparisons, and who else has a name of its own, are
    "pool_ppo": "plain PPO on the train roster",
    "self_play": "naive self-play",
    "expert_recipe": "the shipped expert's recipe",
    "league": "the default league",
    "league_whole": "the default league, whole",
    "pool_ppo_whole": "plain PPO, whole budget",
    "repair_whole": "the league with repair, whole",
    "itself_0": "plain PPO that never plays itself",
    "itself_5": "plain PPO, 5 % of its games against itself",
    "itself_10": "plain PPO, 10 % of its games against itself",
    "itself_25": "plain PPO, 25 % of its games against itself",
    "itself_50": "plain PPO, 50 % of its games against itself",
    "itself_75": "plain PPO, 75 % of its games against itself",
    "itself_90": "plain PPO, 90 % of its games against itself",
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
    "ppo_fast": "`configs/ppo_fast.yaml`, 1M decisions, against the partner that it learned from",
    "by_points": "a small league, selection by points",
    "by_wins": "a small league, selection by wins",
    "memoryless": "the expert's recipe, 600k decisions, without memory",
    "history": "the recipe with the whole history",
    "memoryless_joint": "the recipe with all splits of a pool as one distribution",
    "taught_memoryless": "taught by the best reply, 200k decisions, without the history",
    "taught_history": "taught by the best reply, 200k decisions, with the history",
    "history_joint": "the recipe with both",
    "paid_for_more": "a small league, paid for having more than the other side",
}
EVERY_ROSTER = ("expert.jsonl",)  # of other files the test roster alone, if it was met
SPEED = ("batched engine, uniform-legal", "AEC env()", "PPO training")  # rows of the benchmark in the short table


class Row(NamedTuple):
    """One row."""

    what: str
    figure: str
    over: str  # seeds, roster, scenarios or utterances, and how many
    file: str  # under docs/results


def every_row(folder: Path) -> list[Row]:
    """The rows of all files that are there, in the order of the page."""
    return [row for name, rows in ROWS.items() if there(name, folder) for row in rows(name, folder)]


def of_bench(name: str, folder: Path) -> Iterator[Row]:
    """An arm a row, measured on the test roster if it was, and what one arm has more than another."""
    rows = lines(name, folder)
    groups = arms_by_protocol(rows)
    shown = groups if name in EVERY_ROSTER else groups[:1]
    for (benchmark, arms), section in zip(shown, leaderboard(rows).sections, strict=False):
        for arm, cells in board(arms, section):
            figure = _points(cells, benchmark["partners"])
            yield Row(in_words(arm.name), figure, over(benchmark, arm, seeds_of(arm)), name)
        yield from _differences(name, benchmark, arms)


def board(arms: Sequence[Arm], section: Section) -> Iterator[tuple[Arm, dict[str, Cell]]]:
    """The arms of a leaderboard's section, best first, and their cells by the names of the columns."""
    main = section.blocks[0]
    assert isinstance(main, Table)
    for arm, line in zip(arms, main.rows, strict=True):
        yield arm, dict(zip(main.heads, line.cells, strict=True))


def _differences(name: str, benchmark: Mapping[str, Any], arms: list[Arm]) -> Iterator[Row]:
    reference, scores = REFERENCE.get(name), {arm.name: arm.scores() for arm in arms if len(arm.rows) > 1}
    if reference not in scores or len(scores) < 2:
        return
    for other, found in statistics.compare_arms(scores, reference).items():
        value, n, low, high = found.difference
        figure = f"{value:+.2f} [{low:+.2f}, {high:+.2f}] points of ten, p = {found.adjusted:.2g} (Holm)"
        yield Row(f"{in_words(other)} less `{reference}`", figure, over(benchmark, arms[0], _number(n)), name)


def in_words(arm: str) -> str:
    """An arm's name, after what it is where there are words for that."""
    return f"{ARMS[arm]} (`{arm}`)" if arm in ARMS else arm


def _points(cells: Mapping[str, Cell], partners: int) -> str:
    """Points, shares and the worst tenth of the partners, as far as they are known."""
    parts = [f"{figure_of(cells['points'])} points of ten"]
    if "share of reference" in cells:
        exact = f" ({figure_of(cells['of exact ones'])} where it is exact)" if "of exact ones" in cells else ""
        parts.append(f"{figure_of(cells['share of reference'])} of the reference{exact}")
    if "worst tenth" in cells and partners > 1:
        parts.append(f"worst tenth of the partners {figure_of(cells['worst tenth'])}")
    return "; ".join(parts)


def figure_of(cell: Cell) -> str:
    """A figure with half its interval."""
    assert isinstance(cell, Figure)
    return with_margin(*cell)


def seeds_of(arm: Arm) -> str:
    """How many seeds, and what the training of each cost, as far as it is known."""
    own = arm.rows[0]["submission"]
    if not own["learned"]:
        return "nothing learned"
    return _number(len(arm.rows)) + (f" of {number(own['acts'])} acts" if own["acts"] else "")


def _number(seeds: int) -> str:
    return f"{seeds} seed{'s' * (seeds > 1)}"


def over(benchmark: Mapping[str, Any], arm: Arm, seeds: str) -> str:
    """What a figure of an arm is over."""
    roster, partners = benchmark["roster"], benchmark["partners"]
    named = dict.fromkeys(f"`{cell['partner']}`" for cell in arm.rows[0]["cells"])
    who = f"roster {roster}, {partners} partners" if roster in ROSTERS else ", ".join(named)
    met = len(arm.rows[0]["submission"]["met_here"])
    past = f"; it has met {met} of {partners}" if met else ""
    return f"{seeds}; {who}, both seats; {benchmark['headline']}{past}"


def of_exploited(name: str, folder: Path) -> Iterator[Row]:
    """What an exact best response gets from each arm, and how much of its gain no rational partner concedes."""
    lines_of = exploited.read(folder / name)
    for arm in dict.fromkeys(line["arm"] for line in lines_of):
        own = [line for line in lines_of if line["arm"] == arm]
        got, gained = (
            ", ".join(f"{of_seat(own, key, seat)} as {name_of}" for seat, name_of in enumerate(SEATS))
            for key in exploited.COMPARED
        )
        figure = f"{got}: points of ten; it gains beyond first-mover power {gained}"
        yield Row(in_words(arm), figure, _number(len(own)), name)


def of_seat(lines_of: Sequence[Mapping[str, Any]], key: str, seat: int) -> str:
    """The mean of one figure of a seat over the runs of an arm, with half its interval."""
    return with_margin(statistics.mean_over_seeds([line[key][seat] for line in lines_of]))


def of_people(name: str, folder: Path) -> Iterator[Row]:
    """Replies first: in an opening everybody proposes."""
    found = document(name, folder)
    own, most, rule = found["likeness"]["accuracy"], found["majority"], found["heuristic"]
    for part, more, where in (
        ("replies", found["more_than_majority"][1], "replies of people"),
        ("everywhere", found["more_than_majority"][0], "acts of people, openings too,"),
    ):
        beside = f"always PROPOSE {share(most[part])}, the heuristic {share(rule[part])}"
        missed = "" if more["mean"] >= BAR else f"; {100 * BAR:.0f} more were wanted: missed"
        figure = f"{share(own[part])}; {beside}; {_more(more)} than always PROPOSE{missed}"
        yield Row(
            f"{where} that a policy taught by people foresees; labels noisy, below",
            figure,
            f"n = {own[part]['n']:,} of test",
            name,
        )


BAR = 0.15  # of accuracy more than the majority: what was asked of the supervised expert


def of_labels(name: str, folder: Path) -> Iterator[Row]:
    """How far the labels of people's acts can be trusted."""
    found = document(name, folder)["agreement"]
    both, between = found["annotator"][2], found["between_acts"]
    noise, merged = (1 - both[key]["mean"] for key in ("read_right", "read_right_but_end"))
    yield Row(
        "label noise: acts of people that the annotator reads as another, or that are none",
        f"{noise:.1%} [{1 - both['read_right']['high']:.1%}, {1 - both['read_right']['low']:.1%}]; {merged:.1%} where "
        f"DISAGREE and END count as one; kappa {_kappa(both['acts'])} with two readings "
        f"by a language model, {_kappa(between)} between them",
        f"n = {both['read_right']['n']:,} utterances of test on which both readings agree",
        name,
    )


def of_language_model(name: str, folder: Path) -> Iterator[Row]:
    """What a language model that was not made here gets, and how many of its answers were acts."""
    found = document(name, folder)
    who, against, asked = found["member"], found["against"], found["answers"][found["member"]]
    both, best = found["figures"][who]["both seats"], found["shares_of_own_points"]["best response"]["both seats"]
    figure = (
        f"{estimate(both['points'], 'points')} points of ten; {share(best)} of the best response's; a deal in "
        f"{share(both['deals'])} of the games; {asked['answered']:,} of {asked['asked']:,} decisions its own"
    )
    scenarios = found["scenarios"]
    where = f"against {against}; {scenarios['number']:,} scenarios of {scenarios['source']}, both seats"
    yield Row(f"`{who}`", figure, f"{where}, {asked['games']:,} games", name)


def of_humanlike(name: str, folder: Path) -> Iterator[Row]:
    """Strength and likeness, replies first."""
    found = document(name, folder)
    on, most = found["measured_on"], found["measured_on"]["majority"]
    for row in found["table"]:
        figure = (
            f"{estimate(row['greedy'], 'points')} points of ten; {share(row['replies'])} of people's replies foreseen"
        )
        seeds = f"{row['seeds']} seeds" if row["seeds"] else "1 policy"
        where = f"{seeds}; {found['against']}; {on['replies']:,} replies of people who never refuse"
        what = "taught by people (supervised)" if row["name"] == "people" else row["name"]
        yield Row(what, f"{figure} (always {on['most_said']}: {share(most['replies'])})", where, name)


def of_hints(name: str, folder: Path) -> Iterator[Row]:
    """What a learner that was hinted knows when nobody hints any more, beside one that never was."""
    experiment, shares = hints_of(name, folder)
    for row in findings.rows(experiment, shares):
        figure = f"{with_margin(row.alone, 'share')} of the best response, without hints"
        if not math.isnan(row.gain.mean):
            more = f"{100 * row.gain.mean:+.1f} [{100 * row.gain.low:+.1f}, {100 * row.gain.high:+.1f}]"
            figure += f"; beside never hinted {more} points of a hundred, p = {row.p:.2g} (Holm)"
        what = "never hinted" if math.isnan(row.gain.mean) else f"learned with hints: {row.arm.name}"
        yield Row(what, figure, f"{_number(row.seeds)} of {number(row.acts)} acts; {experiment.label}", name)


def hints_of(name: str, folder: Path) -> tuple[Experiment, tuple[float, ...]]:
    """The hint experiment in a results file, and the shares whose first reaching it reports."""
    about, *marks = (json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines())
    found = [Mark(HintArm(mark.pop("hinter"), mark.pop("dropout")), **mark) for mark in marks]
    tallies = {arm: Counter(tally) for arm, tally in about.get("tallies", {}).items()}
    config = load_config(ROOT / "experiments" / "configs" / "hint_experiment.yaml", [], ExperimentConfig)
    made = Experiment(found, about["hinters"], tallies, about["best_response"], about["measured_on"])
    return made, tuple(config.experiment.shares)


def of_speed(name: str, folder: Path) -> Iterator[Row]:
    """Rates, with the workload, the threads and the unit."""
    for row in document(name, folder)["rows"]:
        if row["what"] in SPEED and row["theirs"] is not None:
            threads = f"{row['threads']} thread{'s' * (row['threads'] > 1)}"
            yield Row(row["what"], rate_of(row), f"{threads}; {row['workload'].split(';')[0]}", name)


def rate_of(row: Mapping[str, Any]) -> str:
    """A rate beside its peer's."""
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
    """A mean with half its interval, where it has one."""
    ends = (math.nan if value[end] is None else float(value[end]) for end in ("low", "high"))
    return with_margin(Estimate(float(value["mean"]), value["n"], *ends), unit)


def _more(value: Mapping[str, Any]) -> str:
    return f"{100 * value['mean']:.1f} ±{50 * (value['high'] - value['low']):.1f} points of accuracy more"


def _kappa(value: Mapping[str, Any]) -> str:
    low, high = value["kappa"]["low"], value["kappa"]["high"]
    return f"{value['kappa']['mean']:.2f} [{low:.2f}, {high:.2f}]"


ROWS: dict[str, Callable[[str, Path], Iterator[Row]]] = {
    "expert.jsonl": of_bench,
    "baselines.jsonl": of_bench,
    "full_budget.jsonl": of_bench,
    "ablation.jsonl": of_bench,
    "exploited.jsonl": of_exploited,
    "exploited_whole.jsonl": of_exploited,
    "robust.jsonl": of_bench,
    "curricula.jsonl": of_bench,
    "selection.jsonl": of_bench,
    "memory.jsonl": of_bench,
    "taught.jsonl": of_bench,
    "ppo_fast.jsonl": of_bench,
    **dict.fromkeys(GAMES, of_language_model),
    "people.json": of_people,
    "annotator.json": of_labels,
    "humanlike.json": of_humanlike,
    "hints.jsonl": of_hints,
    "speed.json": of_speed,
}
