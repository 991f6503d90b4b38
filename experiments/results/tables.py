"""The blocks of the pages: which results file each needs, and its text, rendered from sections of tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.baselines.exploited import SHOWN, exploited_section, read_exploited
from experiments.hint_tables import hint_section
from experiments.kit import table_section
from experiments.results.files import GAMES, bench_rows, document, exists, made_by
from experiments.results.headline import headline_table, short_table
from experiments.results.rows import (
    ARMS,
    REFERENCE,
    board_rows,
    estimate,
    format_figure,
    format_rate,
    read_board,
    read_hints,
    seat_mean,
    share,
)
from league.bench.table import arms_by_protocol, leaderboard
from league.tables.blocks import Section
from league.tables.markdown import section_markdown
from partners.rosters import DEV

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


def robust_section(folder: Path) -> Section:
    """Points and exploitability by the share of games against itself, the smallest share first."""
    arms = (*(arm for arm in ARMS if arm.startswith("itself_")), "league")
    cells = []
    for name, exploited in ((ROBUST, EXPLOITED_ROBUST), (ABLATION, EXPLOITED)):
        dev = (row for row in bench_rows(name, folder) if row["benchmark"]["roster"] == DEV)
        rows = [row for row in dev if row["submission"]["name"] in arms]  # intervals of other arms would take time
        points = {arm.name: row for arm, row in board_rows(arms_by_protocol(rows)[0][1], leaderboard(rows).sections[0])}
        lines = read_exploited(folder / exploited)
        for arm in arms:
            own = [line for line in lines if line["arm"] == arm]
            if arm in points and own:
                figures = (format_figure(points[arm][key]) for key in ("points", "share of reference"))
                seats = (seat_mean(own, key, seat) for key in SHOWN for seat in (0, 1))
                cells.append([ARMS[arm], str(len(own)), *figures, *seats])
    heads = (
        "policy", "seeds", "points of ten, roster dev", "of the reference", "against itself, seat_0", "seat_1",
        "best response gets, seat_0", "seat_1", "gain beyond first-mover power, seat_0", "seat_1",
    )  # fmt: skip
    return table_section("Games against itself", heads, cells)


ABLATION, EXPLOITED, ROBUST, EXPLOITED_ROBUST = (
    "ablation.jsonl", "exploited.jsonl", "robust.jsonl", "exploited_robust.jsonl",
)  # fmt: skip
BENCH = ("expert", "baselines", "full_budget", "ablation", "curricula", "selection", "memory", "taught", "ppo_fast",
         "beliefs", "exploiters")  # fmt: skip

TABLES: dict[str, tuple[str, Text]] = {  # by block: its file, and its text
    **{name: _of_bench(f"{name}.jsonl") for name in BENCH},
    "memory_speed": _block("memory_speed.json", speed_section),
    "speed": _block("speed.json", speed_section),
    "robust": _of_folder(ROBUST, robust_section),
    "hints": _block("hints.jsonl", hint_section, read_hints),
    "people": _block("people.json", people_section),
    "exploited": _exploited_block(EXPLOITED, REFERENCE[ABLATION]),
    "exploited_whole": _exploited_block("exploited_whole.jsonl", REFERENCE["full_budget.jsonl"]),
    "language_model": _of_folder("language_model.json", games_section),
}
SHORT: dict[str, Text] = {"headline": headline_table, "short": short_table}  # blocks of many files
# Other files that a block needs.
ALSO = {
    "robust": (EXPLOITED_ROBUST, ABLATION, EXPLOITED),
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
