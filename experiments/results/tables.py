"""The longer tables of docs/RESULTS.md, each from one results file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from experiments.hints.findings import markdown
from experiments.results import equilibria, exploited, recognition, replies
from experiments.results.crowds import beside_rows, crowd_rows, oracle_rows, taught_rows
from experiments.results.field import FIELD
from experiments.results.files import document, lines, made_by, there
from experiments.results.headline import headline
from experiments.results.language_models import LANGUAGE_MODELS
from experiments.results.questions import answers
from experiments.results.rows import REFERENCE, estimate, hints_of, rate_of, share
from experiments.short_games.experiment import parsed
from experiments.short_games.findings import markdown as short_games
from league.bench.table import leaderboard
from league.tables.markdown import section_markdown

NOTHING = "Not measured yet on today's scenarios and rosters."


def short_table(folder: Path) -> str:
    """The questions of the page and their answers."""
    rows = list(answers(folder))
    return "\n".join(_table(("question", "what", "figure, 95 % interval", "over"), rows)) if rows else NOTHING


def headline_table(folder: Path) -> str:
    """The README's tables."""
    over, board, others, made = headline(folder)
    if not board and not others:
        return NOTHING
    heads = ("who", "points of ten", "of the reference", "worst tenth of the partners", "training")
    return "\n".join(
        [
            over,
            "",
            *_table(heads, [list(row) for row in board]),
            "",
            *_table(("what", "figure, 95 % interval", "over"), [list(row[:3]) for row in others]),
            "",
            *made,
        ]
    )


def bench_table(name: str) -> Callable[[Path], str]:
    """The leaderboard of one results file, compared with its reference."""

    def text(folder: Path) -> str:
        found = lines(name, folder)
        named = {row["submission"]["name"] for row in found}
        over = REFERENCE.get(name)
        report = leaderboard(found, over if over in named else None)
        return "\n\n".join(section_markdown(section, level=3) for section in report.sections)

    return text


def hints_table(folder: Path) -> str:
    """Every arm of the hint experiment."""
    experiment, shares = hints_of("hints.jsonl", folder)
    seeds = len({mark.seed for mark in experiment.marks})
    note = (
        f"{seeds} seeds; shares of what the exact best response to the partner earns ({experiment.best:.2f} points of "
        f"ten) on {experiment.label}, greedy play without hints but where a column says with, 95 % intervals over seeds"
    )
    return f"{note}.\n\n{markdown(experiment, shares).rstrip()}"


def people_table(folder: Path) -> str:
    """What the supervised expert foresees of what people say."""
    found = document("people.json", folder)
    rows = {
        "taught by people": found["likeness"]["accuracy"],
        "always PROPOSE": found["majority"],
        "the default heuristic": found["heuristic"],
    }
    heads = ("says", "the same act, in replies", "everywhere", "the same split, of offers")
    cells = [[name, *(share(row[part]) for part in ("replies", "everywhere", "offers"))] for name, row in rows.items()]
    error = f"Its calibration error is {found['likeness']['calibration_error']:.1%}."
    return "\n".join([*_table(heads, cells), "", error])


def labels_table(folder: Path) -> str:
    """The annotator beside those who labelled the same utterances."""
    found = document("annotator.json", folder)
    agreement = found["agreement"]

    def cells(kappa: dict[str, dict[str, float]]) -> str:
        agreed, beyond = kappa["agreed"], kappa["kappa"]
        return f"{agreed['mean']:.1%}, {beyond['mean']:.2f} [{beyond['low']:.2f}, {beyond['high']:.2f}]"

    rows = [["the two readings", f"{agreement['between_acts']['agreed']['n']:,}"]]
    rows[0] += [cells(agreement["between_acts"]), cells(agreement["between_exact"]), "", ""]
    for each in agreement["annotator"]:
        noise = [f"{1 - each[key]['mean']:.1%} of {each[key]['n']}" for key in ("read_right", "read_right_but_end")]
        rows.append(
            [
                f"annotator and {each['beside']}",
                f"{each['labelled']:,}",
                cells(each["acts"]),
                cells(each["exact"]),
                *noise,
            ]
        )
    heads = (
        "who", "utterances", "same act: share, kappa", "with the split: share, kappa",
        "read as an act and another or none", "DISAGREE and END as one",
    )  # fmt: skip
    val = found["annotator"]["labels"]
    old = f"{sum(act['same'] for act in val)} of {sum(act['labelled'] for act in val)}"
    note = (
        f"Of older labels, of val, on which its rules were tuned, by one reader, it reads {old} the same, splits too."
    )
    return "\n".join([*_table(heads, rows), "", note])


def humanlike_table(folder: Path) -> str:
    """Strength and likeness of every training."""
    found = document("humanlike.json", folder)
    on = found["measured_on"]
    heads = (
        "policy", "seeds", "same act, in replies", "everywhere", f"against {found['against']}, greedy", "sampled",
        "KL from people", "nats of an act",
    )  # fmt: skip
    most = [f"always {on['most_said']}", "", share(on["majority"]["replies"]), share(on["majority"]["everywhere"])]
    rows = [[*most, "", "", "", ""]]
    for row in found["table"]:
        points = [estimate(row[key], "points") for key in ("greedy", "sampled", "distance", "act_nats")]
        rows.append([row["name"], str(row["seeds"] or ""), share(row["replies"]), share(row["everywhere"]), *points])
    note = (
        f"n = {on['positions']:,} acts of people, {on['replies']:,} of them replies; {on['refusals']:,} more in which "
        "somebody refuses or was just refused are left out, for DISAGREE ends this game: likeness to people who never "
        "refuse. Intervals are over seeds, where there are several, else over scenarios."
    )
    return "\n".join([*_table(heads, rows), "", note])


def speed_table(folder: Path, file: str = "speed.json") -> str:
    """Every row of the benchmark."""
    found = document(file, folder)
    machine = ", ".join(f"{name} {value}" for name, value in found["machine"].items())
    heads = ("what", "ours, beside a peer", "threads", "workload")
    rows = [[row["what"], rate_of(row), str(row["threads"]), row["workload"]] for row in found["rows"]]
    note = (
        f"Measured with {machine}, on two cores that much other work had too; rates of one thread are per second of its"
    )
    return "\n".join([f"{note} processor time.", "", *_table(heads, rows)])


def crowd_table(folder: Path) -> str:
    """What not knowing whom costs, and what others earn beside it."""
    heads = ("crowd", "seat", "told whom it faces", "best reply to the crowd", "price of not knowing whom")
    others = ("members", "who", "as seat_0", "as seat_1", "over")
    beside = "Against the same members over the same scenarios, points of ten:"
    return "\n".join([*_table(heads, crowd_rows(folder)), "", beside, "", *_table(others, beside_rows(folder))])


def taught_table(folder: Path) -> str:
    """What who was taught by the best reply to a crowd earns from it."""
    heads = ("who", "seeds", "as seat_0", "of the best reply", "as seat_1", "of the best reply")
    return "\n".join(_table(heads, taught_rows(folder)))


def oracle_table(folder: Path) -> str:
    """Where the double oracle ends."""
    heads = (
        "turns", "equilibrium", "pools in which nobody gains", "iterations", "members at the end", "points, seat_0",
        "seat_1", "gain, seat_0", "seat_1", "play of the first members", "processor seconds",
    )  # fmt: skip
    return "\n".join(_table(heads, oracle_rows(folder)))


def short_games_table(folder: Path) -> str:
    """How near to equilibria self-play comes, a table a game."""
    found = parsed((folder / "short_games.jsonl").read_text(encoding="utf-8").splitlines())
    return short_games(found).rstrip()


def lengths_table(folder: Path) -> str:
    """Equilibria by the length of the game."""
    heads = (
        "turns", "who makes the last offer that can be answered", "points, seat_0", "seat_1", "together", "deals",
        "of all games closed on the last turn", "gain, seat_0", "seat_1",
    )  # fmt: skip
    return "\n".join(_table(heads, equilibria.length_rows(folder)))


def refusing_table(folder: Path) -> str:
    """Equilibria by the length of the game, where DISAGREE only refuses."""
    heads = ("turns", "points, seat_0", "seat_1", "together", "deals", "gain, seat_0", "seat_1")
    return "\n".join(_table(heads, equilibria.refusing_rows(folder)))


def temperatures_table(folder: Path) -> str:
    """Equilibria by temperature."""
    heads = ("temperature", "points, seat_0", "seat_1", "together", "deals", "gain, seat_0", "seat_1")
    return "\n".join(_table(heads, equilibria.temperature_rows(folder)))


def dev_replies_table(folder: Path) -> str:
    """What best responses earn and agree to on the roster dev, and others beside them."""
    return "\n".join(_table(replies.HEADS, replies.reply_rows(folder)))


def beside_table(folder: Path) -> str:
    """Who gets how much beside an equilibrium."""
    heads = ("who", "points, seat_0", "seat_1", "difference", "together", "deals", "how")
    return "\n".join(_table(heads, equilibria.beside_rows(folder)))


def robust_table(folder: Path) -> str:
    """What a share of games against itself earns from others, and leaves a best response."""
    return "\n".join(_table(exploited.HEADS, exploited.robust_rows(folder)))


TABLES: dict[str, tuple[str, Callable[[Path], str]]] = {  # by block: its file, and the text
    "expert": ("expert.jsonl", bench_table("expert.jsonl")),
    "baselines": ("baselines.jsonl", bench_table("baselines.jsonl")),
    "full_budget": ("full_budget.jsonl", bench_table("full_budget.jsonl")),
    "ablation": ("ablation.jsonl", bench_table("ablation.jsonl")),
    "curricula": ("curricula.jsonl", bench_table("curricula.jsonl")),
    "selection": ("selection.jsonl", bench_table("selection.jsonl")),
    "memory": ("memory.jsonl", bench_table("memory.jsonl")),
    "memory_speed": ("memory_speed.json", partial(speed_table, file="memory_speed.json")),
    "taught": ("taught.jsonl", bench_table("taught.jsonl")),
    "taught_crowd": ("taught_crowd.jsonl", taught_table),
    "dev_replies": (replies.FILE, dev_replies_table),
    "ppo_fast": ("ppo_fast.jsonl", bench_table("ppo_fast.jsonl")),
    "hints": ("hints.jsonl", hints_table),
    "people": ("people.json", people_table),
    "labels": ("annotator.json", labels_table),
    "humanlike": ("humanlike.json", humanlike_table),
    "speed": ("speed.json", speed_table),
    "crowd": ("crowd.jsonl", crowd_table),
    "beliefs": ("beliefs.jsonl", bench_table("beliefs.jsonl")),
    "who_is_it": (recognition.FILE, recognition.WHO),
    "what_it_wants": (recognition.FILE, recognition.WANT),
    "calibration": (recognition.FILE, recognition.CALIBRATION),
    "lost_by_turn": (recognition.FILE, recognition.LOST),
    "double_oracle": ("double_oracle.jsonl", oracle_table),
    "short_games": ("short_games.jsonl", short_games_table),
    "lengths": (equilibria.FILE, lengths_table),
    "refusing": (equilibria.FILE, refusing_table),
    "temperatures": (equilibria.FILE, temperatures_table),
    "beside": (equilibria.FILE, beside_table),
    "exploited": (exploited.ABLATION, exploited.exploited_table),
    "exploited_whole": (exploited.WHOLE, exploited.whole_table),
    "robust": (exploited.PLAYED, robust_table),
    "exploiters": ("exploiters.jsonl", bench_table("exploiters.jsonl")),
    **FIELD,
    **LANGUAGE_MODELS,
}

SHORT: dict[str, Callable[[Path], str]] = {"headline": headline_table, "short": short_table}  # from many files
ALSO = {"robust": (exploited.ROBUST, "ablation.jsonl", exploited.ABLATION)}  # other files that a block needs


def block(name: str, folder: Path) -> str:
    """The text of a block of a page, by its name."""
    if name in SHORT:
        return SHORT[name](folder)
    file, text = TABLES[name]
    if not all(there(needed, folder) for needed in (file, *ALSO.get(name, ()))):
        return NOTHING
    return f"{text(folder)}\n\nMade by {made_by(file)}: `docs/results/{file}`."


def _table(heads: tuple[str, ...], rows: Iterator[list[str]] | list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)]
