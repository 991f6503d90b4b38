"""The blocks of the pages: which results file each needs, and its text, rendered from sections of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.baselines.exploited import exploited_section, read_exploited
from experiments.equilibria import (
    SelfPlayValue,
    comparison_section,
    lengths_section,
    parse_equilibria,
    refusing_section,
    temperatures_section,
)
from experiments.hint_tables import hint_section
from experiments.kit import table_section
from experiments.results import language_models, opponents
from experiments.results.files import document, exists, made_by
from experiments.results.headline import headline_table, short_table
from experiments.results.rows import REFERENCE, format_rate, read_board, read_hints, share
from experiments.short_games import parse_short_games, short_games_section
from experiments.style_tables import judges_section, learners_section
from league.tables.blocks import Section
from league.tables.markdown import section_markdown

NOTHING = "Not measured yet on today's scenarios and rosters."

Text = Callable[[Path], str]


def render_plain(section: Section) -> str:
    """A section without its title, for a heading of the page."""
    return section_markdown(section, 2, title=False)


def render_titled(*sections: Section) -> str:
    """Sections under their titles."""
    return "\n\n".join(section_markdown(section, 3) for section in sections)


def _block(
    file: str, section: Callable[[Any], Section], read: Callable[[str, Path], Any] = document
) -> tuple[str, Text]:
    """A block of a section of what ``read`` returns for a file: by default its JSON."""
    return file, lambda folder: render_plain(section(read(file, folder)))


def _read_lines(name: str, folder: Path) -> list[str]:
    return (folder / name).read_text(encoding="utf-8").splitlines()


def _equilibria_block(section: Callable[[Sequence[SelfPlayValue]], Section]) -> tuple[str, Text]:
    return _block("equilibria.jsonl", lambda lines: section(parse_equilibria(lines)), _read_lines)


def _exploited_block(name: str, reference: str) -> tuple[str, Text]:
    return _of_folder(name, lambda folder: exploited_section(read_exploited(folder / name), reference))


def _of_folder(file: str, section: Callable[[Path], Section]) -> tuple[str, Text]:
    """A block of a section that reads its files itself; ``file`` is the one to name."""
    return file, lambda folder: render_plain(section(folder))


def _of_bench(name: str) -> tuple[str, Text]:
    """The leaderboard of a results file of the benchmark, compared with its reference arm."""
    return name, lambda folder: render_titled(*read_board(name, folder)[1])


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


def speed_section(report: Any) -> Section:
    """Every row of the speed benchmark."""
    rows = [[row["what"], format_rate(row), str(row["threads"]), row["workload"]] for row in report["rows"]]
    machine = ", ".join(f"{name} {value}" for name, value in report["machine"].items())
    note = f"Measured with {machine}, on two shared cores; rates of one thread are per second of its processor time."
    return table_section("Speed", ("measurement", "rate, compared with a peer", "threads", "workload"), rows, note)


ABLATION, EXPLOITED, ROBUST, EXPLOITED_ROBUST = (
    "ablation.jsonl", "exploited.jsonl", "robust.jsonl", "exploited_robust.jsonl",
)  # fmt: skip
FREE_BRIEF = "language_model_free_brief.json"
BENCH = ("expert", "baselines", "full_budget", "ablation", "curricula", "selection", "memory", "taught", "ppo_fast",
         "beliefs", "exploiters")  # fmt: skip

TABLES: dict[str, tuple[str, Text]] = {  # by block: its file, and its text
    **{name: _of_bench(f"{name}.jsonl") for name in BENCH},
    "memory_speed": _block("memory_speed.json", speed_section),
    "speed": _block("speed.json", speed_section),
    "taught_crowd": _of_folder("taught_crowd.jsonl", opponents.taught_section),
    "dev_replies": _of_folder(opponents.REPLIES, opponents.replies_section),
    "robust": _of_folder(ROBUST, opponents.robust_section),
    "hints": _block("hints.jsonl", lambda read: hint_section(*read), read_hints),
    "people": _block("people.json", people_section),
    "short_games": _block("short_games.jsonl", lambda rows: short_games_section(parse_short_games(rows)), _read_lines),
    "lengths": _equilibria_block(lengths_section),
    "refusing": _equilibria_block(refusing_section),
    "temperatures": _equilibria_block(temperatures_section),
    "comparison": _equilibria_block(comparison_section),
    "exploited": _exploited_block(EXPLOITED, REFERENCE[ABLATION]),
    "exploited_whole": _exploited_block("exploited_whole.jsonl", REFERENCE["full_budget.jsonl"]),
    "style_judges": _block("style_judges.json", judges_section),
    "style_learners": _block("style_judges.json", learners_section),
    "language_model": _of_folder("language_model.json", language_models.games_section),
    "language_model_free": _of_folder(FREE_BRIEF, language_models.free_section),
    "language_model_pace": _of_folder(FREE_BRIEF, language_models.pace_section),
    "language_model_diagnosis": _block("language_model_diagnosis.json", language_models.diagnosis_section),
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
