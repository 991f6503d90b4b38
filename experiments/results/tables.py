"""The blocks of the pages: which results file each needs, and its text, rendered from sections of tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.baselines.exploited import exploited_section, read_exploited
from experiments.equilibria import (
    comparison_section,
    lengths_section,
    parse_equilibria,
    refusing_section,
    temperatures_section,
)
from experiments.hint_tables import hint_section
from experiments.kit import table_section
from experiments.results import language_models, opponents
from experiments.results.files import bench_rows, document, exists, made_by
from experiments.results.headline import headline_table, short_table
from experiments.results.rows import REFERENCE, format_rate, read_hints, share
from experiments.short_games import parse_short_games, short_games_section
from experiments.style_tables import judges_section, learners_section
from league.bench.table import leaderboard
from league.tables.blocks import Section
from league.tables.markdown import section_markdown

NOTHING = "Not measured yet on today's scenarios and rosters."

Text = Callable[[Path], str]


def render_plain(*sections: Section) -> str:
    """Sections without their titles, for a heading of the page."""
    return "\n\n".join(section_markdown(section, 2, title=False) for section in sections)


def render_titled(*sections: Section) -> str:
    """Sections under their titles."""
    return "\n\n".join(section_markdown(section, 3) for section in sections)


def _lines(folder: Path, name: str) -> list[str]:
    return (folder / name).read_text(encoding="utf-8").splitlines()


def _of_lines(name: str, parse: Callable[[list[str]], Any], *sections: Callable[[Any], Section]) -> tuple[str, Text]:
    """A block of sections of a file of lines."""

    def text(folder: Path) -> str:
        results = parse(_lines(folder, name))
        return render_plain(*(section(results) for section in sections))

    return name, text


def _of_json(name: str, *sections: Callable[[Any], Section]) -> tuple[str, Text]:
    """A block of sections of a JSON file."""
    return name, lambda folder: render_plain(*(section(document(name, folder)) for section in sections))


def _of_bench(name: str) -> tuple[str, Text]:
    """The leaderboard of a results file of the benchmark, compared with its reference arm."""

    def text(folder: Path) -> str:
        rows, reference = bench_rows(name, folder), REFERENCE.get(name)
        names = {row["submission"]["name"] for row in rows}
        return render_titled(*leaderboard(rows, reference if reference in names else None).sections)

    return name, text


def _of_exploited(name: str, reference: str) -> tuple[str, Text]:
    return name, lambda folder: render_plain(exploited_section(read_exploited(folder / name), reference))


def people_section(report: Any) -> Section:
    """Accuracy of the behaviour-cloned policy in predicting people's acts."""
    rows = {
        "behaviour cloning of people": report["likeness"]["accuracy"],
        "always PROPOSE": report["majority"],
        "the default heuristic": report["heuristic"],
    }
    cells = [[name, *(share(row[part]) for part in ("replies", "everywhere", "offers"))] for name, row in rows.items()]
    heads = ("prediction", "same act, in replies", "everywhere", "same split, of offers")
    note = f"Calibration error: {report['likeness']['calibration_error']:.1%}."
    return table_section("Accuracy in predicting people", heads, cells, note)


def labels_section(report: Any) -> Section:
    """Agreement of the annotator with other labels of the same utterances."""
    agreement = report["agreement"]

    def cells(kappa: dict[str, dict[str, float]]) -> str:
        agreed, beyond = kappa["agreed"], kappa["kappa"]
        return f"{agreed['mean']:.1%}, {beyond['mean']:.2f} [{beyond['low']:.2f}, {beyond['high']:.2f}]"

    between = agreement["between_acts"]
    rows = [["the two readings", f"{between['agreed']['n']:,}", cells(between), cells(agreement["between_exact"])]]
    rows[0] += ["", ""]
    for each in agreement["annotator"]:
        noise = [f"{1 - each[key]['mean']:.1%} of {each[key]['n']}" for key in ("read_right", "read_right_but_end")]
        labels = f"annotator and {each['labels']}"
        rows.append([labels, f"{each['labelled']:,}", cells(each["acts"]), cells(each["exact"]), *noise])
    heads = ("labels", "utterances", "same act: share, kappa", "with the split: share, kappa",
             "other act or none", "DISAGREE and END as one")  # fmt: skip
    old = report["annotator"]["labels"]
    note = (
        f"Of older labels by one reader, of split val, on which its rules were tuned, "
        f"{sum(act['same'] for act in old)} of {sum(act['labelled'] for act in old)} are the same, with splits."
    )
    return table_section("Agreement of labels", heads, rows, note)


def speed_section(report: Any) -> Section:
    """Every row of the speed benchmark."""
    rows = [[row["what"], format_rate(row), str(row["threads"]), row["workload"]] for row in report["rows"]]
    machine = ", ".join(f"{name} {value}" for name, value in report["machine"].items())
    note = f"Measured with {machine}, on two shared cores; rates of one thread are per second of its processor time."
    return table_section("Speed", ("measurement", "rate, compared with a peer", "threads", "workload"), rows, note)


ABLATION, EXPLOITED, ROBUST, EXPLOITED_ROBUST = (
    "ablation.jsonl", "exploited.jsonl", "robust.jsonl", "exploited_robust.jsonl",
)  # fmt: skip
EQUILIBRIA = "equilibria.jsonl"
BENCH = ("expert", "baselines", "full_budget", "ablation", "curricula", "selection", "memory", "taught", "ppo_fast",
         "beliefs", "exploiters")  # fmt: skip

TABLES: dict[str, tuple[str, Text]] = {  # by block: its file, and its text
    **{name: _of_bench(f"{name}.jsonl") for name in BENCH},
    "memory_speed": _of_json("memory_speed.json", speed_section),
    "speed": _of_json("speed.json", speed_section),
    "taught_crowd": ("taught_crowd.jsonl", lambda folder: render_plain(opponents.taught_section(folder))),
    "dev_replies": (opponents.REPLIES, lambda folder: render_plain(opponents.replies_section(folder))),
    "robust": (ROBUST, lambda folder: render_plain(opponents.robust_section(folder))),
    "hints": ("hints.jsonl", lambda folder: render_plain(hint_section(*read_hints("hints.jsonl", folder)))),
    "people": _of_json("people.json", people_section),
    "labels": _of_json("annotator.json", labels_section),
    "short_games": _of_lines("short_games.jsonl", parse_short_games, short_games_section),
    "lengths": _of_lines(EQUILIBRIA, parse_equilibria, lengths_section),
    "refusing": _of_lines(EQUILIBRIA, parse_equilibria, refusing_section),
    "temperatures": _of_lines(EQUILIBRIA, parse_equilibria, temperatures_section),
    "comparison": _of_lines(EQUILIBRIA, parse_equilibria, comparison_section),
    "exploited": _of_exploited(EXPLOITED, REFERENCE[ABLATION]),
    "exploited_whole": _of_exploited("exploited_whole.jsonl", REFERENCE["full_budget.jsonl"]),
    "style_judges": _of_json("style_judges.json", judges_section),
    "style_learners": _of_json("style_judges.json", learners_section),
    "language_model": ("language_model.json", lambda folder: render_plain(language_models.games_section(folder))),
    "language_model_free": (
        "language_model_free_brief.json",
        lambda folder: render_plain(language_models.free_section(folder)),
    ),
    "language_model_pace": (
        "language_model_free_brief.json",
        lambda folder: render_plain(language_models.pace_section(folder)),
    ),
    "language_model_diagnosis": _of_json("language_model_diagnosis.json", language_models.diagnosis_section),
}
SHORT: dict[str, Text] = {"headline": headline_table, "short": short_table}  # blocks of many files
# Other files that a block needs.
ALSO = {"robust": (EXPLOITED_ROBUST, ABLATION, EXPLOITED), "taught_crowd": (opponents.MIXTURES,)}


def block(name: str, folder: Path) -> str:
    """The text of a block of a page."""
    if name in SHORT:
        return SHORT[name](folder) or NOTHING
    file, text = TABLES[name]
    if not all(exists(needed, folder) for needed in (file, *ALSO.get(name, ()))):
        return NOTHING
    return f"{text(folder)}\n\nMade by {made_by(file)}: `docs/results/{file}`."
