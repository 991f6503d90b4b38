"""Post-train a language model: clone acts of well-paid games, then follow the gradient of exact line values.

The result is an adapter for the model. A folder of output_dir holds each arm: its examples as JSON lines, also for
other trainers such as TRL's, and an adapter for each measured step. The same command continues from the last one, to
the same weights; a folder with other settings is refused.

examples:
  dond experiment post-training                        # with post_training.yaml
  dond experiment post-training --set "model='FOLDER'" --set device=cuda
  dond experiment post-training --examples-only        # play the games, write the examples, stop
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import click

from dond_marl.errors import InputError
from dond_marl.records.files import write_atomically
from experiments.kit import (
    cache_path,
    experiment_command,
    json_lines,
    read_cached,
    results_path,
    show_sections,
    write_cached,
)
from experiments.post_training.examples import Example, collect_examples, read_examples, write_examples
from experiments.post_training.held_out import measure_model
from experiments.post_training.settings import BEFORE, GRADIENT, MEASURED, ArmSection, PostTrainingConfig
from experiments.post_training.tables import PostTrainingRow
from experiments.post_training.training import (
    DONE,
    Trainee,
    check_partners,
    cloning_steps,
    collect_positions,
    load_trainee,
    train_by_cloning,
    train_by_gradient,
)
from league.cli.shell import print_line
from league.settings.read import load_config
from partners.llm.local.model import fingerprint
from partners.llm.prompt import load_template

EXAMPLES = "examples.jsonl"
RAW = 12  # unconstrained replies, before and after
_NAMES = "games.json"  # the selection of an arm's examples
_MADE_BY = "settings.json"  # inputs of an arm's adapters


def run_experiment(config: PostTrainingConfig, report: Callable[[str], None]) -> list[PostTrainingRow]:
    """The rows of the results: the model before training, each arm and the gradient at their measured steps."""
    folder = Path(config.output_dir).expanduser()
    claim_folder(config, folder)
    check_partners(config)
    rows = [_measured_row(config, folder, BEFORE, 0, None, report, raw=RAW)]
    first, taken = folder, 0
    for number, arm in enumerate(config.arms):
        examples, note = arm_examples(config, arm, folder / arm.name, report)
        total = cloning_steps(config.cloning, len(examples))
        marks = [*range(config.held_out.every, total, config.held_out.every), total] if not number else [total]

        def cloning(trained: Trainee, steps: range, shown: list[Example] = examples) -> None:
            train_by_cloning(trained, shown, config.cloning, config.seed, steps, report)

        for start, mark in zip([0, *marks], marks, strict=False):
            _train_to(config, folder / arm.name, start, mark, cloning, None, report)
            rows.append(
                _measured_row(
                    config,
                    folder,
                    arm.name,
                    mark,
                    _adapter_folder(folder / arm.name, mark),
                    report,
                    raw=RAW * (mark == total),
                )
                | {"reward": arm.reward, "games": note}
            )
        if not number:
            first, taken = folder / arm.name, total
    return rows + _run_gradient(config, folder, _adapter_folder(first, taken), report)


def _run_gradient(
    config: PostTrainingConfig, folder: Path, begun: Path, report: Callable[[str], None]
) -> list[PostTrainingRow]:
    section, arm_folder, rows = config.gradient, folder / GRADIENT, list[PostTrainingRow]()
    for start in range(0, section.steps, section.every):
        end = min(start + section.every, section.steps)
        seated_by = _adapter_folder(arm_folder, start) if start else begun

        def climbing(trained: Trainee, steps: range, adapter: Path = seated_by) -> None:
            found = collect_positions(config, load_template(shipped=config.prompt), adapter, steps.start)
            report(f"{len(found)} positions of its own games")
            train_by_gradient(trained, found, config, steps, report)

        _train_to(config, arm_folder, start, end, climbing, begun, report)
        raw = RAW * (end == section.steps)
        rows.append(_measured_row(config, folder, GRADIENT, end, _adapter_folder(arm_folder, end), report, raw=raw))
    return rows


def _train_to(
    config: PostTrainingConfig, arm_folder: Path, start: int, end: int, training: Callable[[Trainee, range], None],
    begun: Path | None, report: Callable[[str], None],
) -> None:  # fmt: skip
    """Train from one measured step to the next, unless it is done; ``begun``: first adapter, ``None`` for a new one."""
    if (_adapter_folder(arm_folder, end) / DONE).is_file():
        return
    report(f"{arm_folder.name}: steps {start + 1} to {end}")
    began = time.process_time()
    trained = load_trainee(config, _adapter_folder(arm_folder, start) if start else begun, anew=not start)
    training(trained, range(start, end))
    trained.save(_adapter_folder(arm_folder, end))
    write_cached(_adapter_folder(arm_folder, end) / "took.json", {"seconds": round(time.process_time() - began, 1)})


def claim_folder(config: PostTrainingConfig, folder: Path) -> None:
    """Record the inputs of all adapters. Raises :class:`InputError` if ``folder`` has adapters of other inputs."""
    shared = config.model_dump(mode="json", include={"model", "dtype", "prompt", "seed", "games", "adapter", "cloning"})
    folders = {arm.name: {**shared, "reward": arm.reward} for arm in config.arms}
    if config.gradient.steps:
        gradient = config.gradient.model_dump(mode="json", exclude={"steps"})
        folders[GRADIENT] = {**folders[config.arms[0].name], "gradient": gradient}
    for name, inputs in folders.items():
        cached = read_cached(folder / name / _MADE_BY)
        if cached is not None and cached != inputs:
            changed = ", ".join(sorted(key for key in inputs if cached.get(key) != inputs[key]))
            raise InputError(
                f"{folder / name} was made with another value of {changed}: name another output_dir, or remove it"
            )
    for name, inputs in folders.items():
        write_cached(folder / name / _MADE_BY, inputs)


def _adapter_folder(arm_folder: Path, step: int) -> Path:
    return arm_folder / f"step_{step:05d}"


def arm_examples(
    config: PostTrainingConfig, arm: ArmSection, arm_folder: Path, report: Callable[[str], None]
) -> tuple[list[Example], PostTrainingRow]:
    """The examples of an arm, from ``arm_folder`` or played and written there; and their selection."""
    path, cached = arm_folder / EXAMPLES, read_cached(arm_folder / _NAMES)
    if cached is None or not path.is_file():
        found = collect_examples(config.games, arm.reward, load_template(shipped=config.prompt), config.seed)
        write_examples(path, found.examples)
        cached = {"games": found.games, "kept": found.selected, "least": found.least, "examples": len(found.examples)}
        write_cached(arm_folder / _NAMES, cached)
    report(
        f"{arm.name}: {cached['examples']:,} acts out of {cached['kept']:,} of {cached['games']:,} games, "
        f"with a reward of at least {cached['least']:.1f}"
    )
    return read_examples(path), cached


def _measured_row(
    config: PostTrainingConfig, folder: Path, arm: str, step: int, adapter: Path | None, report: Callable[[str], None],
    *, raw: int = 0,
) -> PostTrainingRow:  # fmt: skip
    inputs = {
        "model": config.model, "adapter": None if adapter is None else fingerprint(adapter / DONE),
        "prompt": config.prompt, "dtype": config.dtype, "seed": config.seed, "turns": config.games.max_turns,
        "held_out": config.held_out.model_dump(mode="json"), "raw": raw,
    }  # fmt: skip
    path = cache_path(folder / MEASURED, inputs)
    found = read_cached(path)
    if found is None:
        found = measure_model(config, adapter, raw)
        write_cached(path, found)
    took = None if adapter is None else read_cached(adapter / "took.json")
    points = [value for each in found["partners"].values() for seat in each["points"] for value in seat]
    report(f"{arm}, step {step}: {sum(points) / len(points):.2f} points in {len(points):,} held-out games")
    return {"arm": arm, "step": step, **found, "training_seconds": None if took is None else took["seconds"]}


def write_rows(path: Path, config: PostTrainingConfig, rows: list[PostTrainingRow]) -> None:
    """Write the settings, then one line per row."""
    head = {"config": {**config.model_dump(mode="json"), "output_dir": None}}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json_lines((head, *rows)))


@experiment_command(__doc__, "post_training.yaml")
@click.option("--examples-only", is_flag=True, help="write the examples of each arm, and stop")
def command(config_path: Path, overrides: tuple[str, ...], results: Path | None, examples_only: bool) -> None:
    """Train, measure, print the table, and write the results."""
    from experiments.post_training.tables import post_training_section

    config = load_config(config_path, overrides, PostTrainingConfig)
    folder = Path(config.output_dir).expanduser()
    if examples_only:
        claim_folder(config, folder)
        for arm in config.arms:
            arm_examples(config, arm, folder / arm.name, print_line)
            print_line(f"written: {folder / arm.name / EXAMPLES}")
        return
    path = results_path(results, config.output_dir)
    rows = run_experiment(config, print_line)
    show_sections(post_training_section(config, rows))
    write_rows(path, config, rows)
    print_line(f"written: {path}")
