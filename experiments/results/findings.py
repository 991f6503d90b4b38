"""The generated blocks of README.md, docs/RESULTS.md and docs/EQUILIBRIA.md: figures with their verdicts, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl import statistics
from dond_marl.files import read_json_lines
from dond_marl.occupants import Spec, read_spec
from dond_marl.statistics import SEED_CONFIDENCE
from experiments.hint_tables import hint_rows, parse_hints
from experiments.results.arms import (
    WRITTEN_BY,
    Measured,
    arms_in,
    compare,
    describe,
    difference_cells,
    differences_in,
    first_measured,
    is_independent,
    known_and_new,
    margin,
    non_dominated,
    number,
    reference_points,
    restrict,
    seeds_estimate,
    seeds_of,
    sentence,
    with_best_labels,
)
from experiments.results.figures import BUDGETS, GROWN, plane_arms
from experiments.results.files import GAMES, document, exists, made_by
from experiments.results.tables import LABEL_BAR, from_json, label_rows
from league.bench.arms import MAIN, NASHCONV, Arm, Column
from league.bench.differences import MINUS, SMALLEST_EFFECT, Difference, signed_interval
from league.bench.figures import PARTS_OF, UNKNOWN
from league.bench.protocol import HEADLINE
from league.bench.table import WORST_TENTH
from league.standings.references import stored_references
from league.tables.figures import count_noun, with_margin
from partners.provenance import identity
from partners.rosters import DEV, DEV2, ROSTERS, TEST2, author_of

NOTHING = "Not measured yet on today's scenarios and rosters."
LARGEST = ("arms_4m", "ablation")  # files of the frontier: the first that exists
HELD_OUT = "arms_test2"  # the file of test2 with about 4M acts
# Files of test2, each with those that have the NashConv of its arms.
HELD_OUT_FILES = {HELD_OUT: ("arms_4m", "generated"), "arms_24m_test2": ("arms_24m",)}
CEILING = "test2_references.json"
README_ARMS = (  # in the README's table: the first eight that are measured
    ("pool_ppo",), ("league_itself_20_oracles_10",), ("league",), ("itself_25",), ("both",), ("generated_50",),
    ("bayes_reply",), ("itself_100", "self_play"), ("equilibrium",), ("mmd",), ("nfsp",), ("heuristic",), ("expert",),
)  # fmt: skip
CLAIMED = ("league_itself_20_oracles_10", "itself_25", "bayes_reply", "league", "generated_50", "both", "oracles_10",
           "pool_ppo", "self_play")  # fmt: skip # - the reference: the first four that are measured
TABLE_ROWS, MOST_CLAIMS = 8, 3  # of the README


def headline_block(folder: Path) -> str:
    """The README's table, and the claimed differences."""
    arms = [found for names in README_ARMS if (found := first_measured(names, folder)) is not None][:TABLE_ROWS]
    if not arms:
        return ""
    held = arms_in(HELD_OUT, folder, TEST2)
    heads = ("policy", f"points of ten, {DEV2}", *([f"held out, {TEST2}"] if held else []), NASHCONV, "training")
    rows = []
    for each in by_points(arms):
        on_test2 = held.get(each.arm.name)
        on_held = [margin(on_test2.points) if on_test2 else "-"] if held else []
        rows.append([each.name, margin(each.points), *on_held, margin(each.nashconv), each.training])
    lines = held_out_claims(folder) if held else differences_of(main_file(folder), CLAIMED, folder)[:MOST_CLAIMS]
    scopes = [_scope(each) for each in (arms[0], *list(held.values())[:1])]
    scope = (
        f"{'; '.join(scopes)}. Best responses get {reference_points(arms[0].arm):.2f} on {DEV2}. Intervals are 95 %, "
        f"for seeds and partners like these; differences are on the same partners, of {TEST2 if held else DEV2}."
    )
    return "\n\n".join([scope, pipe_table(heads, rows), "\n".join(lines)]).rstrip()


def held_out_claims(folder: Path) -> list[str]:
    """Sentences on the claimed differences on test2: all partners, independent programs alone, and NashConv."""
    file = HELD_OUT
    found, arms = differences_in(file, folder, TEST2), arms_in(file, folder, TEST2)
    exploited = differences_in(main_file(folder), folder)
    lines = []
    for name in [name for name in CLAIMED if name in found][:MOST_CLAIMS]:
        over = found[name].over
        alone = _compare_on({each: arms[each].arm for each in (name, over)}, over, is_independent)[name]
        seeds = seeds_of(arms[name], arms[over])
        texts = []
        for each in (found[name], alone):
            _, points, verdict, _, without, _ = difference_cells(each, seeds)
            texts.append(f"{points} points of ten, {verdict}, without any one partner {without}")
        gain = difference_cells(exploited[name], seeds)[3] if name in exploited else "-"
        more = "" if gain == "-" else f"; {NASHCONV} {gain}"
        who = f"{describe(name)} {MINUS} {describe(over)}, {count_noun(seeds, 'seed')}"
        lines.append(f"- {who}: {texts[0]}; independent programs alone: {texts[1]}{more}.")
    return lines


def _scope(measured: Measured) -> str:
    """A roster in words: its partners, families, and the scenarios of the headline."""
    board = measured.arm.rows[0]["benchmark"]
    families = len(set(measured.arm.families))
    return f"{board['roster']}: {board['partners']} partners of {families} families, both seats, {board['headline']}"


def by_points(arms: Iterable[Measured]) -> list[Measured]:
    """Best first; learned policies of one seed after those of several, as one training says little about another."""
    return sorted(arms, key=lambda each: (each.arm.learned and len(each.arm.rows) < 2, -each.points.mean))


def main_file(folder: Path) -> str:
    """The file of the frontier."""
    return next((file for file in LARGEST if arms_in(file, folder)), LARGEST[-1])


def differences_of(file: str, names: Iterable[str], folder: Path, roster: str = DEV2) -> list[str]:
    """Sentences on the differences of arms from the reference of their file, as far as they are measured."""
    found, arms = differences_in(file, folder, roster), arms_in(file, folder, roster)
    return [sentence(found[name], seeds_of(arms[name], arms[found[name].over])) for name in names if name in found]


def difference_table(file: str, names: Iterable[str], folder: Path, roster: str = DEV2) -> str:
    """The differences of arms from the reference of their file as a table; empty where none is measured."""
    found, arms = differences_in(file, folder, roster), arms_in(file, folder, roster)
    rows = [
        difference_cells(found[name], seeds_of(arms[name], arms[found[name].over])) for name in names if name in found
    ]
    over = next((describe(each.over) for each in found.values()), "")
    where = f", {roster}" if roster in ROSTERS else ""
    return pipe_table((f"compared with: {over}{where}", *DIFFERENCE_HEADS), rows) if rows else ""


DIFFERENCE_HEADS = ("points of ten", "verdict", NASHCONV, "points without any one partner", "seeds")


def pipe_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown texts, which are not escaped."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))


def frontier_block(folder: Path) -> str:
    """The arms that no other dominates, and the differences of the others from plain PPO."""
    arms = plane_arms(folder)
    if not arms:
        return ""
    best = non_dominated(arms)
    rows = [
        [each.name, *map(margin, (each.points, *known_and_new(each.arm), each.nashconv)), each.training]
        for each in best
    ]
    file = main_file(folder)
    return "\n\n".join([
        f"Of {count_noun(len(arms), 'arm')} with both figures these are not dominated, by their means: no other has as "
        f"many points and as little {NASHCONV}.",
        pipe_table(("arm", "points of ten", "known families", "new families", NASHCONV, "training"), rows),
        difference_table(file, differences_in(file, folder), folder),
        *chosen_league(folder),
        f"All differences: {csv_link('differences')}. Made by {made_by(f'{file}.jsonl')}.",
    ])  # fmt: skip


def chosen_league(folder: Path) -> list[str]:
    """The arm that becomes the default league by the rule in ``frontier.yaml``; nothing without the arms of 4M acts."""
    arms = [arm for arm in arms_in("arms_4m", folder).values() if arm.arm.learned and not math.isnan(arm.nashconv.mean)]
    plain = next((arm for arm in arms if arm.arm.name == "pool_ppo"), None)
    if plain is None:
        return []
    least = [points - SMALLEST_EFFECT for points in (plain.points.mean, known_and_new(plain.arm)[1].mean)]
    near = [arm for arm in arms if arm.points.mean >= least[0] and known_and_new(arm.arm)[1].mean >= least[1]]
    best = min(near, key=lambda arm: arm.nashconv.mean)
    above = [arm.name for arm in arms if arm.points.mean > best.points.mean and arm.nashconv.mean < best.nashconv.mean]
    rest = f"; with more points and less {NASHCONV}: {', '.join(above)}" if above else ""
    return [
        f"The rule in `experiments/configs/frontier.yaml`, the least {NASHCONV} of the arms of 4M acts whose mean "
        f"points are at most {SMALLEST_EFFECT:.2f} below plain PPO's, over all families and over new ones, chooses the "
        f"default league: {best.name} ({count_noun(len(best.arm.rows), 'seed')}){rest}."
    ]


def held_out_block(folder: Path) -> str:
    """Points from the members of test2 by who wrote them, and differences from plain PPO, by acts of a training."""
    parts: list[str] = []
    for file, own_files in HELD_OUT_FILES.items():
        arms = arms_in(file, folder, TEST2)
        if not arms:
            continue
        rows = []
        for each in arms.values():
            columns = (Column(partners=is_part) for is_part in WRITTEN_BY.values())
            worst = each.arm.worst_tenth()
            tenth = UNKNOWN if worst is None else statistics.mean_of(worst.tolist(), SEED_CONFIDENCE)
            estimates = (each.points, *(seeds_estimate(each.arm, column) for column in columns), tenth)
            on_dev2 = first_measured([each.arm.name], folder, own_files)
            exploited = "-" if on_dev2 is None else margin(on_dev2.nashconv)
            rows.append([each.name, *map(margin, estimates), exploited, each.training])
        parts.append(pipe_table(("arm", "points of ten", *WRITTEN_BY, WORST_TENTH, NASHCONV, "training"), rows))
        parts.append(_held_out_differences(file, folder))
    if not parts:
        return ""
    parts.append(ceiling_sentence(folder))
    logged = len(read_json_lines(folder / "test2_log.jsonl"))
    made = "; ".join(made_by(f"{file}.jsonl") for file in HELD_OUT_FILES if exists(f"{file}.jsonl", folder))
    return "\n\n".join([*filter(None, parts), f"Evaluations of policies in the log: {logged}. Made by {made}."])


def ceiling_sentence(folder: Path) -> str:
    """What exact best responses could earn from members of test2, by what they know, and what arms earn from them."""
    stored, arms = stored_references(folder / CEILING), arms_in(HELD_OUT, folder, TEST2)
    best = {
        name: float(np.mean([side.values_over(seat, PARTS_OF[HEADLINE])[1]
                             for seat, side in enumerate(each.seats) if side is not None]))
        for name, each in stored.items()
    }  # fmt: skip
    members = {name for name in best if (spec := read_spec(name)) is None or spec.kind != "mixture"}
    if not members or not arms:
        return ""
    names = [name for name in ("pool_ppo", *CLAIMED) if name in arms]
    earned = {name: restrict(arms[name].arm, lambda partner: identity(partner) in members).headline().mean
              for name in dict.fromkeys(names)}  # fmt: skip
    listed = ", ".join(f"{describe(name)} {points:.2f}" for name, points in earned.items())
    (whole,) = (best[name] for name in best if name not in members)
    return (
        f"The ceiling, on the {len(members)} deterministic members without memory: exact best responses that know "
        f"their partner get {np.mean([best[name] for name in members]):.2f}, the one that knows only that it is one of "
        f"these gets {whole:.2f} (all of lewis, {HEADLINE}); {listed}. Made by {made_by(CEILING)}."
    )


def _held_out_differences(file: str, folder: Path) -> str:
    """Arms - the reference of their file over all members of test2, over those of each part alone, and by author."""
    found = differences_in(file, folder, TEST2)
    if not found:
        return ""
    over = next(iter(found.values())).over
    own = {name: each.arm for name, each in arms_in(file, folder, TEST2).items() if name in (over, *found)}
    labelled = {name: best for name, arm in own.items() if (best := with_best_labels(arm)) is not None}
    parts = [compare(labelled, over), *(_compare_on(own, over, is_part) for is_part in WRITTEN_BY.values())]
    rows = []
    for name, each in found.items():
        _, points, verdict, _, without, _ = difference_cells(each, 0)
        rows.append([describe(name), points, verdict, *(_brief(part.get(name)) for part in parts), without])
    heads = (f"compared with: {describe(over)}, {TEST2}", "points of ten", "verdict", "best labels", *WRITTEN_BY)
    table = pipe_table((*heads, "points without any one partner"), rows)
    claimed = [name for name in CLAIMED if name in own and name != over][:MOST_CLAIMS]
    authors = sorted({author_of(partner) for partner in own[over].partners if is_independent(partner)})
    compared_arms = {name: own[name] for name in (over, *claimed)}
    by_author = {author: _compare_on(compared_arms, over, _is_by(author)) for author in authors}
    lines = [
        f"- {describe(name)} {MINUS} {describe(over)}: "
        + "; ".join(f"{author} {_brief(compared[name])}" for author, compared in by_author.items())
        for name in claimed
    ]
    return "\n\n".join([table, "By author of the independent programs:", "\n".join(lines)])


def _compare_on(arms: Mapping[str, Arm], over: str, is_part: Callable[[Spec], bool]) -> dict[str, Difference]:
    """By arm, its difference from the arm ``over`` on a part of the partners."""
    return compare({name: restrict(arm, is_part) for name, arm in arms.items()}, over)


def _brief(found: Difference | None) -> str:
    """A difference in points with its verdict; a dash where there is none."""
    return "-" if found is None else f"{signed_interval(found.points.difference)}, {found.points.verdict}"


def _is_by(author: str) -> Callable[[Spec], bool]:
    return lambda partner: author_of(partner) == author


CSV = "results/tables"


def csv_link(name: str) -> str:
    """A link to a generated table."""
    return f"[{name}.csv]({CSV}/{name}.csv)"


def families_block(folder: Path) -> str:
    """Points from known and new families: the arm with the most of each, and plain PPO, by roster."""
    parts, made = [], []
    for roster, files in ((DEV2, LARGEST), (TEST2, tuple(HELD_OUT_FILES))):
        file = next((file for file in files if arms_in(file, folder, roster)), files[0])
        arms = arms_in(file, folder, roster)
        pairs = {name: known_and_new(arm.arm) for name, arm in arms.items() if arm.arm.learned}
        if not pairs:
            continue
        made.append(made_by(f"{file}.jsonl"))
        gaps = {name: known.mean - new.mean for name, (known, new) in pairs.items()}
        most_known = max(pairs, key=lambda name: pairs[name][0].mean)
        most_new = max(pairs, key=lambda name: pairs[name][1].mean)
        least_gap, most_gap = min(gaps.values()), max(gaps.values())
        parts.append(
            f"- Roster {roster}: of the arms that learn, {describe(most_known)} earns most from known families "
            f"({margin(pairs[most_known][0])}, {arms[most_known].training}) and {describe(most_new)} from new ones "
            f"({margin(pairs[most_new][1])}, {arms[most_new].training}). Known minus new families: {least_gap:+.2f} to "
            f"{most_gap:+.2f} over the arms."
        )
        if "pool_ppo" in pairs:
            known, new = pairs["pool_ppo"]
            parts.append(f"- {describe('pool_ppo')}, {roster}: {margin(known)} and {margin(new)}.")
    if not parts:
        return ""
    return "\n".join(
        [*parts, "", f"By partner, seat and scenarios: {csv_link('partners')}. Made by {'; '.join(made)}."]
    )


def acts_block(folder: Path) -> str:
    """What more acts change, for each arm with several budgets."""
    rows = []
    for arm, older in GROWN.items():
        found = [each for files in BUDGETS if (each := first_measured((arm, older), folder, files)) is not None]
        names = {f"{number(each.acts)} acts": each for each in found}
        first, *others = names or [""]
        compared = compare({name: each.arm for name, each in names.items()}, first) if others else {}
        for name in (name for name in others if name in compared):  # one seed alone is not compared
            points, *rest = difference_cells(compared[name], seeds_of(names[name], names[first]))[1:]
            known, new = (
                f"{now.mean - before.mean:+.2f}"
                for before, now in zip(known_and_new(names[first].arm), known_and_new(names[name].arm), strict=True)
            )
            rows.append([f"{describe(arm)}: {name} {MINUS} {first}", points, known, new, *rest])
    if not rows:
        return ""
    files = [file for budget in BUDGETS for file in budget[:2] if arms_in(file, folder)]
    heads = ("roster dev2", DIFFERENCE_HEADS[0], "known families", "new families", *DIFFERENCE_HEADS[1:])
    return f"{pipe_table(heads, rows)}\n\nMade by {'; '.join(made_by(f'{file}.jsonl') for file in files)}."


def shares_block(prefixes: Sequence[str], *more: str) -> Callable[[Path], str]:
    """A block of the arms whose practice is in part of some kind, compared with the reference of their file.

    ``more``: further files, whose arms are all listed as far as they are measured.
    """

    def text(folder: Path) -> str:
        file, roster = ("arms_4m", DEV2) if arms_in("arms_4m", folder) else ("robust", DEV)
        names = [name for name in differences_in(file, folder, roster) if name.startswith(tuple(prefixes))]
        tables = {file: difference_table(file, sorted(names, key=_natural), folder, roster)}
        tables |= {other: difference_table(other, differences_in(other, folder), folder) for other in more}
        made = "; ".join(made_by(f"{name}.jsonl") for name, table in tables.items() if table)
        return "\n\n".join([*filter(None, tables.values()), f"Made by {made}."]) if made else ""

    return text


def _natural(name: str) -> tuple[str, int]:
    text, _, last = name.rpartition("_")
    return (text, int(last)) if last.isdigit() else (name, 0)


def literature_block(folder: Path) -> str:
    """Older league methods, and how many parts of the league matter."""
    found = differences_in("ablation", folder)
    if not found:
        return ""
    parts = [name for name in found if name.startswith(("no_", "with_"))]
    table = difference_table("ablation", [name for name in found if name not in parts], folder)
    verdicts = {
        verdict: [f"{describe(name)} ({found[name].points.difference.mean:+.2f})" for name in parts
                  if found[name].points.verdict == verdict]
        for verdict in ("better", "worse", "undecided", "equivalent")
    }  # fmt: skip
    listed = "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in verdicts.items() if names)
    more = difference_table("leagues", ("alphastar", "self_play", "self_play_tuned"), folder)
    return "\n".join([
        table, "", *([more, ""] if more else []),
        f"Parts of the league, removed or added one at a time, in points: {listed}.", "",
        f"All differences: {csv_link('differences')}. Made by {made_by('ablation.jsonl')}.",
    ])  # fmt: skip


def bench_block(file: str, roster: str = DEV) -> Callable[[Path], str]:
    """The differences of a file's arms from its reference, on a roster."""

    def text(folder: Path) -> str:
        table = difference_table(file, differences_in(file, folder, roster), folder, roster)
        return f"{table}\n\nMade by {made_by(f'{file}.jsonl')}." if table else ""

    return text


def single_block(file: str) -> Callable[[Path], str]:
    """The points of a file's arms, by roster or partners."""

    def text(folder: Path) -> str:
        lines = []
        for roster in (*ROSTERS, "own list"):
            for arm in arms_in(file, folder, roster).values():
                against = (
                    f"roster {roster}" if roster in ROSTERS else ", ".join(f"`{name}`" for name in arm.arm.partners)
                )
                proximity, gain = share_of_reference(arm.arm), margin(arm.nashconv)
                exploited = "" if gain == "-" else f"; {NASHCONV} {gain}"
                lines.append(
                    f"- {arm.name}, against {against}: {margin(arm.points)} points of ten{proximity}{exploited}; "
                    f"{arm.training}."
                )
        return "\n".join([*lines, "", f"Made by {made_by(f'{file}.jsonl')}."]) if lines else ""

    return text


def share_of_reference(arm: Arm) -> str:
    """Best-Response Proximity in words; empty where there is no reference."""
    proximity = arm.headline(MAIN["BR-Prox"])
    return "" if math.isnan(proximity.mean) else f", {with_margin(proximity, 'share')} of the best responses'"


def people_block(folder: Path) -> str:
    """Accuracy of the behaviour-cloned policy, and the noise of its labels."""
    if not exists("people.json", folder):
        return ""
    report = document("people.json", folder)
    own, majority, heuristic = report["likeness"]["accuracy"], report["majority"], report["heuristic"]
    lines = []
    for part, more in (("replies", report["more_than_majority"][1]), ("everywhere", report["more_than_majority"][0])):
        reached = "the goal is reached" if more["mean"] >= BAR else "the goal is missed"
        lines.append(
            f"- {part}: {share(own[part])}; always PROPOSE {share(majority[part])}, the default heuristic "
            f"{share(heuristic[part])}; {100 * more['mean']:+.1f} ±{50 * (more['high'] - more['low']):.1f} points of "
            f"accuracy, {reached}; n = {own[part]['n']:,}."
        )
    if exists("annotator.json", folder):
        both = document("annotator.json", folder)["agreement"]["annotator"][2]["read_right"]
        lines.append(
            f"- noise of the labels: {1 - both['mean']:.1%} [{1 - both['high']:.1%}, {1 - both['low']:.1%}] of "
            f"{both['n']:,} utterances have another label by the annotator, or are no act."
        )
    return "\n".join([*lines, "", f"{csv_link('people')}. Made by {made_by('people.json')}."])


BAR = 0.15  # goal of the supervised expert: accuracy above the majority class


def share(value: Mapping[str, Any]) -> str:
    """A share of a JSON file with half its interval."""
    return with_margin(from_json(value), "share")


def language_model_block(folder: Path) -> str:
    """Points of a pretrained language model by opponent, both seats."""
    lines = []
    for name in (name for name in GAMES if exists(name, folder)):
        report = document(name, folder)
        member = report["member"]
        own, best = (
            report["figures"][member]["both seats"],
            report["shares_of_own_points"]["best response"]["both seats"],
        )
        points = margin(from_json(own["points"]))
        lines.append(
            f"- `{member}` against {report['against']}: {points} points of ten, {share(best)} of the best "
            f"response's; deals in {share(own['deals'])} of n = {own['points']['n']:,} games."
        )
    made = made_by("language_model.json")
    return "\n".join([*lines, "", f"By seat: {csv_link('language_model')}. Made by {made}."]) if lines else ""


def hints_block(folder: Path) -> str:
    """Play without hints after training with each kind, compared with training without."""
    if not exists("hints.jsonl", folder):
        return ""
    experiment = parse_hints((folder / "hints.jsonl").read_text(encoding="utf-8"))
    lines = []
    for row in hint_rows(experiment):
        if math.isnan(row.gain.mean):
            lines.append(f"- never hinted: {with_margin(row.alone, 'share')} of the best response's points.")
        else:
            gain, low, high = (100 * value for value in (row.gain.mean, row.gain.low, row.gain.high))
            lines.append(
                f"- hints of {row.arm.name}: {with_margin(row.alone, 'share')}, {gain:+.1f} [{low:+.1f}, {high:+.1f}] "
                f"percentage points, p = {row.p:.2g} (Holm)."
            )
    seeds, acts = (len({mark.seed for mark in experiment.marks}), np.mean([row.acts for row in hint_rows(experiment)]))
    scope = f"{count_noun(seeds, 'seed')} of {number(float(acts))} acts, {experiment.label}, play without hints:"
    return "\n".join([scope, "", *lines, "", f"{csv_link('hints')}. Made by {made_by('hints.jsonl')}."])


def speed_block(folder: Path) -> str:
    """Rates of the engine, the environment and generated partners, compared with peers."""
    names = [name for name in ("speed.json", "partner_speed.json") if exists(name, folder)]
    lines = [
        f"- {row['what']}: {number(row['ours'])} {row['unit']}, {row['ratio']:.3g} times {row['peer']} "
        f"({number(row['theirs'])}); {count_noun(row['threads'], 'thread')}."
        for name in names
        for row in document(name, folder)["rows"]
        if row["theirs"] is not None
    ]
    made = " and ".join(map(made_by, names))
    return "\n".join([*lines, "", f"{csv_link('speed')}. Made by {made}."]) if names else ""


def labels_block(folder: Path) -> str:
    """The gap between the points as played and with the best labels."""
    rows = list(label_rows(folder))
    if not rows:
        return ""
    gaps = {f"{row['name']} ({row['roster']})": row["gap"].mean for row in rows}
    above = [f"{name} {gap:.2f}" for name, gap in sorted(gaps.items(), key=lambda each: -each[1]) if gap > LABEL_BAR]
    named = f", most to {', '.join(above[:3])}" if above else ""
    sentence = (
        f"The best label for each partner would add more than {LABEL_BAR} points of ten to the mean of {len(above)} of "
        f"{count_noun(len(rows), 'arm')}{named}. {csv_link('labels')}."
    )
    gains = {(row["file"], row["arm"]): row["gap"].mean for row in rows if row["roster"] == DEV2}
    taught = {file: arms_in(file, folder) for file in ("labels_from_networks", "arms_4m")}
    both = [name for name in taught["labels_from_networks"] if name in taught["arms_4m"]]
    if not both:
        return sentence
    cells = [[describe(name), *(text for file in taught for text in _taught_cells(taught[file][name], gains))]
             for name in both]  # fmt: skip
    heads = ("points", "more with the best labels", NASHCONV, "seeds")
    table = pipe_table(("arm", *(f"{head}, {file}" for file in taught for head in heads)), cells)
    return f"{table}\n\n{sentence} The first file made by {made_by('labels_from_networks.jsonl')}."


def _taught_cells(arm: Measured, gains: Mapping[tuple[str, str], float]) -> list[str]:
    gain = gains[f"{arm.file}.jsonl", arm.arm.name]
    return [margin(arm.over_seeds), f"{gain:.2f}", margin(arm.nashconv), str(len(arm.arm.rows))]


def restricted_block(folder: Path) -> str:
    """Restricted Nash responses of ten turns."""
    rows = [row for row in read_json_lines(folder / "restricted.jsonl") if row["turns"] == 10]
    if not rows:
        return ""
    cells = [
        [
            f"{row['p']:g}", f"{np.mean(row['from_set']):.2f}", _range(row["nash_conv"], 2),
            *(f"{value:.2f}" for value in row["itself"]), f"{sum(row['player_gain']):.3f}",
            _range(np.sum(row["free_gain"], axis=0), 3),
        ]
        for row in sorted(rows, key=lambda row: row["p"])
    ]  # fmt: skip
    heads = ("p", "points from the set", NASHCONV, "against itself, seat_0", "seat_1", "player's gain",
             "free opponent's gain")  # fmt: skip
    made = f"Two to four turns: {csv_link('restricted')}. Made by {made_by('restricted.jsonl')}."
    return f"{pipe_table(heads, cells)}\n\n{made}"


def pools_block(folder: Path) -> str:
    """The mean NashConv of the shipped equilibria next to that of the worst pool."""
    rows = read_json_lines(folder / "equilibrium_pools.jsonl")
    lines = []
    for turns in sorted({row["turns"] for row in rows}):
        own = [row for row in rows if row["turns"] == turns]
        worst = max(own, key=lambda row: row["nashconv"][1])
        mean = np.sum([np.multiply(row["nashconv"], row["share"]) for row in own], axis=0)
        counts = "-".join(map(str, worst["counts"]))
        lines.append(
            [str(turns), _range(mean, 3), _range(worst["nashconv"], 3), f"{counts}, {worst['share']:.1%} of games"]
        )
    if not lines:
        return ""
    made = f"All pools: {csv_link('equilibrium_pools')}. Made by {made_by('equilibrium_pools.jsonl')}."
    return f"{pipe_table(('turns', f'{NASHCONV}, mean', 'in the worst pool', 'the worst pool'), lines)}\n\n{made}"


def _range(ends: Iterable[float], digits: int) -> str:
    low, high = (f"{max(end, 0):.{digits}f}" for end in ends)
    return low if low == high else f"{low} to {high}"


BLOCKS: dict[str, Callable[[Path], str]] = {
    "headline": headline_block,
    "frontier": frontier_block,
    "held_out": held_out_block,
    "families": families_block,
    "acts": acts_block,
    "oracles": shares_block(("oracles_", "both", "itself_"), "oracles"),
    "generated": shares_block(("generated_",), "generated", "generated_groups"),
    "literature": literature_block,
    "labels": labels_block,
    "hints": hints_block,
    "people": people_block,
    "language_model": language_model_block,
    "selection": bench_block("selection"),
    "curricula": bench_block("curricula"),
    "memory": bench_block("memory"),
    "taught": bench_block("taught"),
    "beliefs": bench_block("beliefs"),
    "exploiters": bench_block("exploiters", roster="own list"),
    "expert": single_block("expert"),
    "ppo_fast": single_block("ppo_fast"),
    "speed": speed_block,
    "restricted": restricted_block,
    "pools": pools_block,
}


def block(name: str, folder: Path) -> str:
    """The text of a block of a page."""
    return BLOCKS[name](folder) or NOTHING
