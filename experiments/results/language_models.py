"""Tables of language models: in a seat, as judges of style, after training on the game, and with other aims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dond_marl.statistics import mean_of
from experiments.language_models.post_training import findings as post_training
from experiments.language_models.post_training.figure import drawing
from experiments.results.files import FOLDER, ROOT, document, there
from experiments.results.language_model_files import BESIDE, DIAGNOSIS, FREE, GAMES, JUDGES
from experiments.results.rows import estimate, share
from league.tables.figures import with_margin

DRAWN_TRAINING = ROOT / "docs" / "post_training.svg"
_COUNTS = ("yes_yes", "yes_no", "no_yes", "no_no")  # what a judge said of an episode, and what is so


def games_table(folder: Path) -> str:
    """What it gets against each opponent, by seat."""
    rows, asked = [], [0, 0]
    for name, found in _there(GAMES, folder):
        who = found["member"]
        prompt = "short" if name == "language_model.json" else "brief, by value"
        for key, seat in {"both seats": "both", "seat_0": r"seat\_0", "seat_1": r"seat\_1"}.items():
            figures, best = found["figures"][who][key], found["shares_of_own_points"]["best response"][key]
            points, left, deals = (figures[figure] for figure in ("points", "left", "deals"))
            cells = [estimate(points, "points"), estimate(left, "points"), share(best), share(deals)]
            rows.append([f"`{found['against']}`", prompt, seat, *cells, f"{points['n']:,}"])
        answers = found["answers"][who]
        asked = [asked[0] + answers["asked"], asked[1] + answers["answered"]]
    heads = (
        "against",
        "prompt",
        "seat",
        "points of ten",
        "the partner's",
        "share of the best response",
        "deals",
        "games",
    )
    legal = f"Of {asked[0]:,} decisions it made {asked[1]:,} itself, all of them legal acts."
    return f"{_table(heads, rows)}\n\n{legal}"


def free_table(folder: Path) -> str:
    """How much of what it writes freely would do."""
    rows = []
    for name, found in _there(FREE, folder):
        free = found["free"]
        shares = [_wilson(free[reader]) for reader in ("strict", "lenient")]
        why = ", ".join(f"{reason.replace('_', ' ')} {times}" for reason, times in sorted(free["refused"].items()))
        rows.append([FREE[name], *shares, why, f"{free['strict']['n']:,}"])
    return _table(("prompt", "legal to the strict reader", "to the lenient one", "refused", "replies"), rows)


def pace_table(folder: Path) -> str:
    """What a decision takes, on both paths."""
    rows = []
    for name, found in _there(FREE, folder):
        rows.append(["transformers, bfloat16, the legal lines as a tree", FREE[name], *_pace(found["pace"])])
    if there(BESIDE, folder):
        found = document(BESIDE, folder)
        rows.append([f"llama.cpp (xllamacpp {found['version']}), Q4_1, a grammar", found["prompt"], *_pace(found)])
    heads = (
        "path",
        "prompt",
        "alone, CPU seconds",
        "in batches",
        "moves a CPU second",
        "load, CPU seconds",
        "memory, MB",
    )
    return _table(heads, rows)


def diagnosis_table(folder: Path) -> str:
    """What its acts lose by the exact best response, what its offers keep, and what it says that the partner wants."""
    found = document(DIAGNOSIS, folder)["diagnosis"]
    rows = [["own points of ten, a game", estimate(found["points"], "points")]]
    rows += [["lost by its acts, a game", estimate(found["lost"], "points")]]
    rows += [["of the exact best response", f"{found['share']:.1%}"]]
    rows += [[f"lost by each {act}, of {times:,}", f"{lost:.2f}"] for act, (times, lost) in found["by_act"].items()]
    for turn, kept in found["demanded"]:
        if kept["n"]:
            what = f"kept by the offer in its turn {turn + 1}, of {kept['n']:,}"
            rows.append([what, share(kept)])
    told, answers = found["believed"], found["answers"]
    rows += [["a second copy, more or less", estimate(found["noise"], "points")]]
    rows += [["legal decisions of its own", f"{answers['legal']:.1%}"]]
    rows += [["re-asks, a game", f"{answers['re_asks']:.2f}"]]
    rows += [["beliefs told, of those asked", f"{told['answered']:,} of {told['asked']:,}"]]
    kinds = {"brier": "Brier score", "floor": "of the exact posterior", "before": "of who has heard nothing"}
    rows += [[name, estimate(told[kind], "points")] for kind, name in kinds.items()]
    for kind in told["calibration"]:
        if kind["number"]:
            said = f"said to be likely by {kind['said']:.2f}, {kind['number']:,} times: true"
            rows.append([said, f"{kind['true']:.2f}"])
    return _table((f"against `{found['against']}`, {found['games']:,} games", "value"), rows)


def judges_table(folder: Path) -> str:
    """Who labels episodes like the definition."""
    found = document(JUDGES, folder)
    names = {"judge": "SmolLM2", "supervised": "reward model", "rules": "vote of rules (baseline)"}
    rows = []
    for row in found["judges"]:
        labels = row["labels"]
        kappa = "-" if labels["kappa"] is None else f"{labels['kappa']:.2f}"
        counts = [str(labels[count]) for count in _COUNTS]
        rows.append([row["style"].replace("_", "-"), names[row["judge"]], f"{labels['accuracy']:.1%}",
                     f"{labels['majority']:.1%}", kappa, *counts])  # fmt: skip
    heads = ("style", "who", "accuracy", "one answer", "kappa", "yes right", "yes wrong", "no wrong", "no right")
    comparison = found["settings"]["comparison"]
    drawn = (
        f"{comparison['seeds']} draws of {comparison['examples']} labelled episodes, each judged on the same "
        f"{comparison['episodes']} held-out episodes."
    )
    return f"{_table(heads, rows)}\n\n{drawn}"


def style_learners_table(folder: Path) -> str:
    """Learners of a style by who paid them, in the columns of the paper."""
    found = document(JUDGES, folder)
    names = {"own": "own points", "true": "the style itself", "judge": "SmolLM2", "supervised": "reward model",
             "rules": "vote of rules (baseline)"}  # fmt: skip
    rows = []
    for row in found["learners"]:
        rates, played, right = row["rates"], row["played"], row["labels_in_practice"]
        rows.append(
            [
                row["style"].replace("_", "-"),
                names[row["reward"]],
                with_margin(mean_of(rates, found["confidence"]), "share"),
                "-" if right is None else f"{right['accuracy']:.1%} of {sum(right[kind] for kind in _COUNTS):,}",
                *(estimate(played[figure], "points") for figure in ("advantage", "diversity")),
                *(share(played[figure]) for figure in ("deals", "pareto")),
                estimate(played["points"], "points"),
            ]
        )
    heads = ("style", "paid by", "in the style", "labels right in practice", "advantage", "diversity", "agreement",
             "Pareto", "own points")  # fmt: skip
    settings, training = found["settings"]["comparison"], found["settings"]["training"]
    note = (
        f"{settings['seeds']} learners a row, each {training['num_train_steps']:,} own decisions of {training['algo']} "
        f"from `{training['init_from']}` against `{found['partner']}`. *In the style*: share of all held-out games, by "
        "the definition; its 95 % interval is over learners, those of the other columns over scenarios. Advantage: own "
        "points less the partner's; diversity: different splits that it offers in a game; agreement: games with a "
        "deal; Pareto: games with a deal that no split betters for one side without harm to the other."
    )
    return f"{_table(heads, rows)}\n\n{note}"


def post_training_table(folder: Path) -> str:
    """Points of a model before and after it was trained on the game."""
    return post_training.markdown(*post_training.read_rows(folder / "post_training.jsonl"))


def post_training_figure(folder: Path = FOLDER) -> str:
    """The same by step, as a drawing; empty where nothing was measured."""
    name = "post_training.jsonl"
    return drawing(*post_training.read_rows(folder / name)) if there(name, folder) else ""


LANGUAGE_MODELS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "language_model": ("language_model.json", games_table),
    "language_model_free": ("language_model_free_brief.json", free_table),
    "language_model_pace": ("language_model_free_brief.json", pace_table),
    "language_model_diagnosis": (DIAGNOSIS, diagnosis_table),
    "style_judges": (JUDGES, judges_table),
    "style_learners": (JUDGES, style_learners_table),
    "post_training": ("post_training.jsonl", post_training_table),
}


def _there(files: Mapping[str, Any], folder: Path) -> list[tuple[str, Any]]:
    return [(name, document(name, folder)) for name in files if there(name, folder)]


def _wilson(value: Mapping[str, Any]) -> str:
    return f"{value['mean']:.1%} [{value['low']:.1%}, {value['high']:.1%}]"


def _pace(found: Mapping[str, Any]) -> list[str]:
    together = found.get("together_s")
    each = min(found["alone_s"], together or found["alone_s"])
    batches = "-" if together is None else f"{together:.2f}"
    return [
        f"{found['alone_s']:.2f}",
        batches,
        f"{1 / each:.1f}",
        f"{found['load_s']:.1f}",
        f"{found['memory_mb']:,.0f}",
    ]


def _table(heads: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [list(heads), ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
