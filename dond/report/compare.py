"""Comparison of leagues: verdicts, curves, paired differences and the settings that differ, as a report.

Runs whose settings differ in the seed alone are seeds of one arm: their mean is one curve, whose band is over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond.report.collect import read_run_files
from dond_marl.errors import InputError
from dond_marl.game import SEATS
from dond_marl.occupants import ANYTHING, NOTHING
from dond_marl.statistics import Comparison, Estimate, compare_arms, mean_of
from league.bench.differences import MINUS, SMALLEST_EFFECT, signed_interval
from league.evaluation.final import SHARE
from league.figures.rows import Figure
from league.ledger.ledger import ReadLedger
from league.ledger.run_directory import find_run
from league.ledger.verify import flat_settings
from league.standings.history import CurvePoint, history_of, learning_curves
from league.standings.ladder import ladder_of
from league.tables.blocks import Curves, Report, Section, Table, TableRow, count_cell
from league.tables.figures import count_noun, duration
from league.tables.verdict import Verdict, verdict_of

MOST_RUNS = 8
FEWEST_PARTNERS = 6  # of an interval and a verdict
FEWEST_SEEDS = 3  # of a band
SEED = "league.seed"
OWN_FIXED = "each run's own fixed members: not the same ones, so levels cannot be compared"
Points = Mapping[str, tuple[float, float]]  # of ten, by partner and seat of the main


class ComparedRun(NamedTuple):
    """The compared part of one run; the figures are those of its first main."""

    label: str
    settings: Mapping[str, str]  # by key, without those that change no row
    confidence: float
    verdict: Verdict
    curve: tuple[CurvePoint, ...]
    strangers: Points  # in the held-out evaluation; empty without one
    fixed: Points  # in the matches of the league


Arm = tuple[str, list[ComparedRun]]  # its label, and its seeds


def read_compared(folder: Path, *, trust: bool = False) -> ComparedRun:
    """Read one run, also while it is running. Raises :class:`InputError` for a league without a main."""
    directory = find_run(folder)
    with ReadLedger(directory.ledger, ANYTHING if trust else NOTHING) as ledger, ledger.snapshot():
        config, members, seconds = ledger.config(), ledger.members(), ledger.clock()[0]
        cross, confidence = history_of(ledger, config).cross, config.league.confidence
        curves, over = learning_curves(ledger, confidence), ledger.next_round >= config.total_rounds
    mains = [learner.name for learner in config.learners if learner.role == "main"]
    if not mains:
        raise InputError(f"{directory.path} has no main to compare; runs with a learner of the role main have one")
    main = mains[0]
    final = read_run_files(directory.path, over=over, evaluates=config.league.evaluate, mains=True).evaluation
    strangers = (
        {}
        if final is None
        else {
            partner: tuple(final.estimate(main, partner, "points", seat).mean for seat in SEATS)
            for partner in final.opponents(main, SHARE)
        }
    )
    fixed = {
        member.name: tuple(cross.tally("points", main, [member.name], seat).mean(confidence).mean for seat in (0, 1))
        for member in members
        if member.role == "fixed" and member.split == "train"
    }
    path, settings = directory.path.resolve(), config.portable().model_dump(mode="json")
    names = {
        f"{key}.{entry['name']}.name": entry["name"]
        for key, entries in settings.items()
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and "name" in entry
    }
    return ComparedRun(
        f"{path.parent.name}/{path.name}",
        dict(flat_settings(settings)) | names,
        confidence,
        verdict_of(curves, mains, cross, ladder_of(cross, confidence), final, confidence, duration(seconds)),
        tuple(point for point in curves if point.member == main),
        strangers,  # type: ignore[arg-type]  # pairs
        fixed,  # type: ignore[arg-type]
    )


def comparison_of(runs: Sequence[ComparedRun]) -> Report:
    """The report on 2 to :data:`MOST_RUNS` runs; differences are from the first. Raises :class:`InputError`."""
    arms, confidence = _arms(runs), runs[0].confidence
    differences, notes = _differences(arms)
    heads = tuple(dict.fromkeys(label for run in runs for label, _ in run.verdict.facts))
    verdicts = tuple(TableRow(run.label, tuple(map(dict(run.verdict.facts).get, heads))) for run in runs)
    points = tuple(point for label, seeds in arms for point in _mean_curve(label, seeds, confidence))
    single = tuple(
        tuple(point._replace(member=label) for point in run.curve)
        for label, seeds in arms
        if seeds[1:]
        for run in seeds
    )
    curves = Curves(points, confidence, seeds=single)
    if len({frozenset(run.fixed) for run in runs}) > 1:
        curves = curves._replace(opponents=OWN_FIXED)
    seeds_note = (
        ("Of several seeds the line is their mean, and of three or more the band is the interval over seeds.",)
        if single
        else ()
    )
    return Report(
        title=f"Comparison of {len(runs)} runs",
        summary="; ".join(f"{label}: {', '.join(run.label for run in seeds)}" for label, seeds in arms if seeds[1:]),
        confidence=confidence,
        sections=(
            Section("learning", "Learning curves of the first mains", seeds_note, (curves,)),
            Section("verdicts", "Verdicts", (), (Table("By run", heads, verdicts, "run", "facts"),)),
            Section(
                "differences", "Differences", notes, (_difference_table(arms, differences),) if differences else ()
            ),
            _settings_section(arms),
        ),
        abstract=tuple(
            (f"{name} {MINUS} {arms[0][0]}", f"{signed_interval(difference)} points of ten, {verdict}")
            for name, (difference, verdict) in differences.items()
        ),
    )


def _arms(runs: Sequence[ComparedRun]) -> list[Arm]:
    """The runs by their settings but the seed, in the order of their first ones."""
    groups: dict[frozenset[tuple[str, str]], list[ComparedRun]] = {}
    for run in runs:
        group = groups.setdefault(frozenset((key, text) for key, text in run.settings.items() if key != SEED), [])
        if twin := next((other for other in group if other.settings[SEED] == run.settings[SEED]), None):
            raise InputError(f"{twin.label} and {run.label} have the same settings and seed; name each run once")
        group.append(run)
    return [
        (
            group[0].label if len(group) == 1 else f"{group[0].label} and {count_noun(len(group) - 1, 'seed')} more",
            group,
        )
        for group in groups.values()
    ]


def _mean_curve(label: str, seeds: Sequence[ComparedRun], confidence: float) -> Iterator[CurvePoint]:
    """The curve of an arm, named ``label``; of several seeds their mean in the rounds that all of them have."""
    by_round = [{point.round: point for point in run.curve} for run in seeds]
    for number in sorted(set.intersection(*(set(curve) for curve in by_round))):
        points = [curve[number] for curve in by_round]
        if len(points) == 1:
            yield points[0]._replace(member=label)
            continue
        means = [mean_of([getattr(point, name).mean for point in points], confidence) for name in ("points", "gain")]
        if len(points) < FEWEST_SEEDS:
            means = [mean._replace(low=math.nan, high=math.nan) for mean in means]
        known = [mean._replace(n=0) if math.isnan(mean.mean) else mean for mean in means]
        yield CurvePoint(number, label, points[0].decisions, *known)


def _differences(arms: Sequence[Arm]) -> tuple[dict[str, tuple[Estimate, str]], tuple[str, ...]]:
    """Each arm - the first, and the verdict, on the partners of all runs; the held-out ones if every run has some."""
    runs = [run for _, seeds in arms for run in seeds]
    strangers = all(run.strangers for run in runs)
    points = {run.label: run.strangers if strangers else run.fixed for run in runs}
    common = [
        name
        for name in points[runs[0].label]
        if all(name in scores and not np.isnan(scores[name]).any() for scores in points.values())
    ]
    if len(arms) < 2:
        return {}, ("None: all runs are seeds of one config.",)
    if not common:
        return {}, ("None: the runs have no partner in common.",)
    scores = {label: np.array([[points[run.label][name] for name in common] for run in seeds]) for label, seeds in arms}
    where = "the held-out evaluation" if strangers else "the league's last matches, as not every run has an evaluation"
    note = (
        f"Own points of ten of the first main from {count_noun(len(common), 'partner')} in {where}; both arms of a "
        "difference have the same partners, which are paired. 95% intervals over partners, and over seeds where an arm "
        f"has several. Equivalent: surely less than {SMALLEST_EFFECT:.2f} apart."
    )
    if any(len(seeds) == 1 for _, seeds in arms):
        note = f"An arm of one run says nothing about other seeds: training varies between seeds. {note}"
    sizes, reference = {label: len(seeds) for label, seeds in arms}, arms[0][0]
    compared, few = {}, len(common) < FEWEST_PARTNERS
    for name, it in compare_arms(scores, reference, common, SMALLEST_EFFECT).items():
        difference = it.difference._replace(low=math.nan, high=math.nan) if few else it.difference
        compared[name] = (difference, _verdict(it, {sizes[reference], sizes[name]}, len(common)))
    return compared, (note,)


def _verdict(comparison: Comparison, runs: set[int], partners: int) -> str:
    """The verdict on a difference, or the reason why there is none; ``runs``: the sizes of both arms."""
    if 1 in runs:
        return f"one run {'each' if runs == {1} else 'in one arm'}: no verdict on the settings"
    few = f"few partners: no verdict on the settings from {partners}"
    return few if partners < FEWEST_PARTNERS else comparison.verdict


def _difference_table(arms: Sequence[Arm], differences: Mapping[str, tuple[Estimate, str]]) -> Table:
    seeds = {label: len(group) for label, group in arms}
    rows = tuple(
        TableRow(name, (Figure(difference._replace(n=0)), verdict, count_cell(seeds[name])))
        for name, (difference, verdict) in differences.items()
    )
    return Table(f"Compared with {arms[0][0]}", ("points of ten", "verdict", "runs"), rows, "run")


def _settings_section(arms: Sequence[Arm]) -> Section:
    """The settings that differ between arms, a row for each key.

    Named entries of a list that some arms lack are one row, and so is a mapping that some arms lack.
    """
    settings = [seeds[0].settings for _, seeds in arms]
    keys = [key for key in dict.fromkeys(key for of_arm in settings for key in of_arm) if key != SEED]
    lists: dict[str, list[str]] = {}  # list of named entries: the keys of those that not all arms have
    for key in keys:
        if key.endswith(".name") and not all(key in of_arm for of_arm in settings):
            lists.setdefault(key.split(".")[0], []).append(key)
    lacking = tuple(key.removesuffix("name") for names in lists.values() for key in names)
    rows = [
        TableRow(
            f"{name}: not in all",
            tuple(", ".join(of_arm[key] for key in names if key in of_arm) or "none" for of_arm in settings),
        )
        for name, names in lists.items()
    ]

    def shown(key: str) -> str:
        """The first mapping around ``key`` that some arm lacks, else ``key``."""
        parents = accumulate(key.split(".")[:-1], "{}.{}".format)
        return next((name for name in parents if not all(_inside(name, of_arm) for of_arm in settings)), key)

    compared = dict.fromkeys(shown(key) for key in keys if not key.startswith(lacking) and key not in lists)
    rows += [
        TableRow(key, tuple(of_arm.get(key) or _inside(key, of_arm) or "absent" for of_arm in settings))
        for key in compared
    ]
    different = tuple(row for row in rows if len(set(row.cells)) > 1)
    seeds = TableRow(SEED, tuple(", ".join(run.settings[SEED] for run in group) for _, group in arms))
    table = Table("Settings that differ", tuple(label for label, _ in arms), (*different, seeds), "key", "facts")
    return Section("settings", "Settings", (), (table,))


def _inside(name: str, settings: Mapping[str, str]) -> str:
    """The settings in a mapping, in a line; empty without any."""
    within = f"{name}."
    return ", ".join(f"{key.removeprefix(within)} {text}" for key, text in settings.items() if key.startswith(within))
