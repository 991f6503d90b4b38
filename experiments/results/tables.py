"""The blocks of the pages: which results file each needs, and its text, rendered from sections of tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.hint_tables import hint_section
from experiments.kit import table_section
from experiments.restricted import read_json_lines, restricted_section
from experiments.results.files import GAMES, document, exists, made_by
from experiments.results.headline import headline_table, short_table
from experiments.results.rows import estimate, format_rate, read_boards, read_hints, share
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


def _of_folder(file: str, section: Callable[[Path], Section]) -> tuple[str, Text]:
    """A block of a section that reads its files itself; ``file`` is the one to name."""
    return file, lambda folder: render_plain(section(folder))


def _of_bench(name: str) -> tuple[str, Text]:
    """The leaderboard of a results file of the benchmark, compared with its reference arm."""
    return name, lambda folder: render_titled(*(board.section for board in read_boards(name, folder)))


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


def games_section(folder: Path) -> Section:
    """Points against each opponent, by seat."""
    rows, requested, valid = [], 0, 0
    for name in GAMES:
        report = document(name, folder)
        member = report["member"]
        prompt = "short" if name == "language_model.json" else "brief, by value"
        for key, seat in (("both seats", "both"), ("seat_0", "seat_0"), ("seat_1", "seat_1")):
            figures, best = report["figures"][member][key], report["shares_of_own_points"]["best response"][key]
            points, left, deals = (figures[figure] for figure in ("points", "left", "deals"))
            cells = [estimate(points, "points"), estimate(left, "points"), share(best), share(deals)]
            rows.append([report["against"], prompt, seat, *cells, f"{points['n']:,}"])
        requested += report["answers"][member]["asked"]
        valid += report["answers"][member]["answered"]
    heads = ("opponent", "prompt", "seat", "points of ten", "the opponent's", "share of the best response", "deals",
             "games")  # fmt: skip
    note = f"It made {valid:,} of {requested:,} decisions itself, all of them legal acts."
    return table_section("A language model in a seat", heads, rows, note)


BENCH = ("expert", "baselines", "full_budget", "ablation", "robust", "curricula", "selection", "memory", "taught",
         "ppo_fast", "beliefs", "exploiters")  # fmt: skip

TABLES: dict[str, tuple[str, Text]] = {  # by block: its file, and its text
    **{name: _of_bench(f"{name}.jsonl") for name in BENCH},
    "memory_speed": _block("memory_speed.json", speed_section),
    "speed": _block("speed.json", speed_section),
    "hints": _block("hints.jsonl", hint_section, read_hints),
    "people": _block("people.json", people_section),
    "language_model": _of_folder("language_model.json", games_section),
    "restricted": _of_folder(
        "restricted.jsonl", lambda folder: restricted_section(read_json_lines(folder / "restricted.jsonl"))
    ),
}
SHORT: dict[str, Text] = {"headline": headline_table, "short": short_table}  # blocks of many files
# Other files that a block needs.
ALSO = {
    "language_model": tuple(GAMES),
}


def block(name: str, folder: Path) -> str:
    """The text of a block of a page."""
    if name in SHORT:
        return SHORT[name](folder) or NOTHING
    file, text = TABLES[name]
    if not all(exists(needed, folder) for needed in (file, *ALSO.get(name, ()))):
        return NOTHING
    return f"{text(folder)}\n\nMade by {made_by(file)}: `docs/results/{file}`."
