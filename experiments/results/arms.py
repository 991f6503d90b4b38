"""Arms of the results files for sentences and figures: their names in words, their estimates, their differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl import statistics
from dond_marl.files import read_json_lines
from dond_marl.occupants import Spec
from dond_marl.statistics import SEED_CONFIDENCE, Estimate
from experiments.results.files import boards_of
from league.bench.arms import MAIN, NASHCONV, PARTS, Arm, Column
from league.bench.differences import MINUS, Difference, differences, signed_interval
from league.bench.figures import UNKNOWN, has_train_family, partner_of
from league.bench.table import SHOWN
from league.tables.figures import count_noun, with_margin
from partners.rosters import DEV2, author_of, family_of
from partners.scripted.generated import GROUPS

NAMES = {  # of arms, in words
    "pool_ppo": "PPO on the train roster",
    "stopped": "PPO, early stopping on dev",
    **{f"oracles_{part}": f"PPO, {part} % exact oracles" for part in (5, 10, 25, 50)},
    **{f"generated_{part}": f"PPO, {part} % generated partners" for part in (25, 50)},
    "generated_100": "PPO, generated partners alone",
    "generated_itself_25": "PPO, 38 % generated, 25 % self-play",
    "both": "PPO, generated partners and 10 % oracles",
    "both_25": "PPO, generated partners and 25 % oracles",
    "itself_0": "PPO on the train roster",
    **{f"oracles_{part}_itself": f"PPO, {part} % exact oracles and 10 % self-play" for part in (10, 25)},
    "league_with_oracles": "league with oracles and less self-play",
    "league_itself_20_oracles_10": "default league",
    "league_generated": "default league, 25 % generated partners",
    "league_itself_30_oracles_15": "league with more oracles and most self-play",
    **{f"itself_25_oracles_{part}": f"PPO, {part} % exact oracles and 25 % self-play" for part in (10, 20)},
    **{f"programs_{count}": f"PPO, 50 % from {count:,} fixed programs" for count in (24, 256, 4096)},
    "generated_50_history": "PPO, 50 % generated partners, reads the history",
    "generated_50_acceptance": "PPO, 50 % generated partners, predicts acceptance",
    **{f"without_{group}": f"PPO, 50 % generated partners without {group}" for group in GROUPS},
    **{f"itself_{part}": f"PPO, {part} % self-play" for part in (5, 10, 25, 50, 75, 90)},
    "itself_100": "self-play alone",
    "self_play": "self-play alone",
    "self_play_tuned": "self-play alone, tuned",
    "league": "league with exploiters",
    "with_repair": "league with exploiters and repair",
    "no_exploiters": "league without exploiters",
    "no_regret": "league without regret",
    "no_gate": "league without a gate",
    "no_past": "league without past selves",
    "no_curriculum": "league without a curriculum",
    "with_novelty": "league with snapshots for novelty",
    "with_history": "league whose networks read the history",
    "pool_ppo_whole": "PPO on the train roster",
    "league_whole": "league with exploiters",
    "repair_whole": "league with exploiters and repair",
    "nfsp": "NFSP",
    "mmd": "regularised self-play (MMD)",
    "psro": "PSRO, last oracle",
    "jpsro": "JPSRO, last oracle",
    "jpsro_ce": "JPSRO (CE), last oracle",
    "fcp": "fictitious co-play (FCP)",
    "alphastar": "AlphaStar's league",
    "expert": "shipped expert",
    "former_expert": "former expert",
    "expert_recipe": "PPO, half against the heuristic",
    "bayes_reply": "Bayes reply to a bank of programs",
    "best_fixed": "best member of the train roster",
    "equilibrium": "equilibrium",
    "heuristic": "default heuristic",
    "random": "random legal acts",
    "none": "small league without stages",
    "turns": "first stage of short games",
    "opponents": "first stage of fixed members alone",
    "scenarios": "first stage of scenarios of any worth",
    "hints": "first stage of hints",
    "by_points": "small league, selection by points",
    "by_wins": "small league, selection by wins",
    "paid_for_more": "small league, reward for the lead",
    "memoryless": "recipe without memory",
    "history": "recipe with the whole history",
    "memoryless_joint": "recipe with a joint head",
    "history_joint": "recipe with history and joint head",
    "taught_memoryless": "targets of the best response, no history",
    "taught_history": "targets of the best response, history",
    "own": "network without additions",
    "belief": "with a belief head",
    "critic": "with a critic that sees both values",
    "exploiter": "exploiter without history",
    "exploiter_history": "exploiter that reads the history",
    "newest_alone": "oracles: the newest alone",
    "last_ten": "oracles: the last ten",
    "fictitious": "oracles: all, alike",
    "every_third": "oracles: solved every third round",
    "sampled": "oracles to sampled acts",
}
METHODS = {  # rows of the README's figure: by group, arms, or names of which the first measured one counts
    "practice against a roster": (("pool_ppo",), ("oracles_10",), ("oracles_25",), ("generated_50",), ("both",)),
    "leagues": (("league",), ("league_itself_20_oracles_10", "with_repair"), ("alphastar",)),
    "shares of self-play": (("itself_10",), ("itself_25",), ("itself_50",), ("itself_100", "self_play")),
    "from the literature": (("nfsp",), ("fcp",), ("psro",), ("jpsro",), ("mmd",)),
    "nothing learned": (("bayes_reply",), ("best_fixed",), ("heuristic",), ("equilibrium",)),
}
LARGEST = ("arms_4m", "leagues", "ablation", "baselines", "bench")  # files: of an arm in several the first counts


class Measured(NamedTuple):
    """An arm with the roster and the results file that it was measured in."""

    arm: Arm
    file: str
    restricted: Estimate = UNKNOWN  # NashConv of a policy that has no exact best response in its rows

    @property
    def name(self) -> str:
        """The arm's name in words."""
        return describe(self.arm.name)

    @property
    def points(self) -> Estimate:
        """The headline, with the interval for seeds and partners like these."""
        return self.arm.headline()

    @property
    def over_seeds(self) -> Estimate:
        """The headline with the interval over seeds alone."""
        return seeds_estimate(self.arm)

    @property
    def nashconv(self) -> Estimate:
        """NashConv over seeds; ``nan`` without it."""
        found = self.arm.exploitability("nashconv")
        return self.restricted if found is None else statistics.mean_of(found.tolist(), SEED_CONFIDENCE)

    @property
    def acts(self) -> float:
        """Mean acts of a training; 0 where nothing was learned or it is not known."""
        return float(np.mean([row["submission"]["acts"] or 0 for row in self.arm.rows]))

    @property
    def training(self) -> str:
        """Seeds, and acts of each training: ``10 seeds, 4.4M acts``."""
        if not self.arm.learned:
            return "nothing learned"
        return count_noun(len(self.arm.rows), "seed") + (f", {number(self.acts)} acts" if self.acts else "")


def describe(arm: str) -> str:
    """An arm's name in words."""
    return NAMES.get(arm, arm)


def seeds_estimate(arm: Arm, column: Column = MAIN["points"]) -> Estimate:
    """The headline of a column with the interval over seeds alone, these partners; ``nan`` where unknown."""
    scores = arm.scores(column)
    if np.isnan(scores).all():
        return UNKNOWN
    return statistics.mean_of(statistics.headline_scores(scores, arm.families).tolist(), SEED_CONFIDENCE)


@cache
def arms_in(file: str, folder: Path, roster: str = DEV2) -> dict[str, Measured]:
    """The arms of a results file on a roster, best first; none without them."""
    board = next((each for each in boards_of(file, folder) if each.benchmark["roster"] == roster), None)
    found = {} if board is None else {arm.name: Measured(arm, file) for arm in board.arms}
    if "equilibrium" in found and roster == DEV2:
        found["equilibrium"] = found["equilibrium"]._replace(restricted=equilibrium_nashconv(folder))
    return found


def equilibrium_nashconv(folder: Path) -> Estimate:
    """NashConv of the shipped equilibrium of ten turns: the middle of its exact bounds, and these."""
    rows = [row for row in read_json_lines(folder / "restricted.jsonl") if row["turns"] == 10 and row["p"] == 0]
    if not rows:
        return UNKNOWN
    low, high = rows[0]["nash_conv"]
    return Estimate((low + high) / 2, 0, low, high)


def first_measured(names: Iterable[str], folder: Path, files: Sequence[str] = LARGEST) -> Measured | None:
    """The first arm of one of the ``names`` in the first of the ``files`` that has it on dev2."""
    return next((found[name] for name in names for file in files if name in (found := arms_in(file, folder))), None)


def methods(folder: Path) -> dict[str, list[Measured]]:
    """The measured rows of :data:`METHODS`, by group."""
    rows = {
        group: [found for names in arms if (found := first_measured(names, folder)) is not None]
        for group, arms in METHODS.items()
    }
    return {group: found for group, found in rows.items() if found}


def differences_in(file: str, folder: Path, roster: str = DEV2) -> dict[str, Difference]:
    """Every arm of a results file - its reference arm on a roster, by arm."""
    boards = [each for each in boards_of(file, folder) if each.benchmark["roster"] == roster]
    return {each.name: each for board in boards for each in board.compared}


def compare(arms: Mapping[str, Arm], over: str) -> dict[str, Difference]:
    """Arms of several files on the same partners, by new names, compared with that of the name ``over``."""
    renamed = [arm._replace(name=name) for name, arm in arms.items()]
    return {each.name: each for each in differences(renamed, over)}


def restrict(arm: Arm, is_part: Callable[[Spec], bool]) -> Arm:
    """The arm with its games against some partners alone."""
    return arm._replace(
        rows=tuple(
            {**row, "cells": [each for each in row["cells"] if is_part(partner_of(each["partner"]))]}
            for row in arm.rows
        )
    )


def with_best_labels(arm: Arm) -> Arm | None:
    """The arm as if its offers to each partner had had the best label for it; ``None`` if it was measured without."""
    gains = arm.best_label_gains()
    if gains is None:
        return None
    rows = []
    for row, own in zip(arm.rows, gains, strict=True):
        head, more = row["benchmark"]["headline"], dict(zip(arm.partners, own, strict=True))
        cells = [{**each, "points": {head: each["points"][head] + more[each["partner"]]}} for each in row["cells"]]
        rows.append({**row, "cells": cells})
    return arm._replace(rows=tuple(rows))


def is_independent(partner: Spec) -> bool:
    """Whether a partner is a program of one of the independent authors."""
    return len(author_of(partner)) == 1


WRITTEN_BY: dict[str, Callable[[Spec], bool]] = {  # the parts of test2, by who wrote the partners
    "independent programs": is_independent,
    "NegMAS agents": lambda partner: author_of(partner) == "negmas",
    "this project's families": lambda partner: author_of(partner) == "project",
}


def reference_points(arm: Arm, families: Sequence[str] | None = None) -> float:
    """The headline of the partners' best responses, where known; ``families``: those of a part of the partners."""
    head = arm.rows[0]["benchmark"]["headline"]
    values = {
        (cell["partner"], cell["seat"]): (cell.get("reference") or {}).get(head, math.nan)
        for cell in arm.rows[0]["cells"]
    }
    scores = np.array([[values[partner, seat] for seat in (0, 1)] for partner in arm.partners], dtype=np.float64)
    if families is not None:
        scores[[family not in families for family in arm.families]] = math.nan
    return math.nan if np.isnan(scores).all() else float(statistics.headline_scores(scores[None], arm.families)[0])


def known_and_new(arm: Arm) -> tuple[Estimate, Estimate]:
    """Points from partners of known and of new families, with intervals over seeds."""
    return seeds_estimate(arm, PARTS["known families"]), seeds_estimate(arm, PARTS["new families"])


def by_family(arm: Arm) -> dict[str, float]:
    """The mean points from each family of partners."""
    points = arm.scores().mean(axis=(0, 2))  # [W]
    labels = np.array(arm.families)
    return {family: float(points[labels == family].mean()) for family in dict.fromkeys(arm.families)}


def new_families(arm: Arm) -> set[str]:
    """The families of which no member has a program of the roster train."""
    return {family_of(partner) for partner in arm.partners} - {
        family_of(partner) for partner in arm.partners if has_train_family(partner)
    }


def non_dominated(arms: Sequence[Measured]) -> list[Measured]:
    """The arms such that no other has as many points and as little NashConv, by mean; the most points first."""
    known = sorted(
        (arm for arm in arms if not math.isnan(arm.nashconv.mean)),
        key=lambda arm: (-arm.points.mean, arm.nashconv.mean),
    )
    best, found = math.inf, []
    for arm in known:
        if arm.nashconv.mean < best:
            best = arm.nashconv.mean
            found.append(arm)
    return found


def seeds_of(*arms: Measured) -> int:
    """The least number of seeds of the arms that learn."""
    return min((len(each.arm.rows) for each in arms if each.arm.learned), default=1)


def sentence(found: Difference, seeds: int) -> str:
    """A difference as an item of a list: both arms, points with verdict, NashConv, range without a partner, seeds."""
    name, points, verdict, nashconv, without, _ = difference_cells(found, seeds)
    parts = [f"{points} points of ten, {verdict}", f"{NASHCONV} {nashconv}", f"without any one partner {without}"]
    shown = "; ".join(part for part in parts if not part.endswith(" -"))
    return f"- {name} {MINUS} {describe(found.over)}: {shown}; {count_noun(seeds, 'seed')}."


def difference_cells(found: Difference, seeds: int) -> list[str]:
    """A difference as cells: the arm, points, verdict, NashConv, points without any one partner, seeds."""
    changed = sum(other != found.points.verdict for _, other in found.points.without)
    verdict = found.points.verdict + (f" ({count_noun(changed, 'partner')} could change it)" if changed else "")
    nashconv = "-" if math.isnan(found.nashconv.mean) else signed_interval(found.nashconv)
    return [
        describe(found.name),
        signed_interval(found.points.difference),
        verdict,
        nashconv,
        found.range or "-",
        str(seeds),
    ]


def margin(estimate: Estimate) -> str:
    """Points with half their interval, unless that is narrower than the last digit; a dash where they are unknown."""
    narrow = estimate.high - estimate.low < SHOWN["points"]
    return with_margin(estimate._replace(low=math.nan, high=math.nan) if narrow else estimate)


def number(value: float) -> str:
    """Three digits, with thousands and millions as letters."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
