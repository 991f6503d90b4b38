"""Every arm trained and measured at its marks, then the gradient; what is kept is not done again.

A folder of ``output_dir`` holds an arm: its examples, and an adapter for each mark. A training that was stopped goes on
from its last mark, and comes to the same weights; one with other settings is refused.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dond_marl.errors import InputError
from dond_marl.records.files import write_atomically
from experiments.kept import place, read, write
from experiments.language_models.post_training.cloning import clone, steps_of
from experiments.language_models.post_training.examples import Example, collect, read_examples, write_examples
from experiments.language_models.post_training.gradient import check_partners, climb, positions
from experiments.language_models.post_training.held_out import measured
from experiments.language_models.post_training.settings import (
    BEFORE,
    GRADIENT,
    MEASURED,
    ArmSection,
    PostTrainingConfig,
)
from experiments.language_models.post_training.trainee import DONE, Trainee, trainee
from partners.llm.local.model import fingerprint
from partners.llm.prompt import load_template

EXAMPLES = "examples.jsonl"
RAW = 12  # replies that are written without constraint, before and after
_NAMES = "games.json"  # what the examples of an arm were chosen from
_MADE_BY = "settings.json"  # what an arm's adapters are a function of

Row = dict[str, Any]


def perform(config: PostTrainingConfig, tell: Callable[[str], None]) -> list[Row]:
    """The rows of the results: the model before, each arm at its marks, the gradient at its marks."""
    folder = Path(config.output_dir).expanduser()
    claim(config, folder)
    check_partners(config)
    rows = [_row(config, folder, BEFORE, 0, None, tell, raw=RAW)]
    first, taken = folder, 0
    for number, arm in enumerate(config.arms):
        examples, note = examples_of(config, arm, folder / arm.name, tell)
        total = steps_of(config.cloning, len(examples))
        marks = [*range(config.held_out.every, total, config.held_out.every), total] if not number else [total]

        def cloning(trained: Trainee, steps: range, shown: list[Example] = examples) -> None:
            clone(trained, shown, config.cloning, config.seed, steps, tell)

        for start, mark in zip([0, *marks], marks, strict=False):
            _train(config, folder / arm.name, start, mark, cloning, None, tell)
            rows.append(
                _row(config, folder, arm.name, mark, _mark(folder / arm.name, mark), tell, raw=RAW * (mark == total))
                | {"reward": arm.reward, "games": note}
            )
        if not number:
            first, taken = folder / arm.name, total
    return rows + _gradient(config, folder, _mark(first, taken), tell)


def _gradient(config: PostTrainingConfig, folder: Path, begun: Path, tell: Callable[[str], None]) -> list[Row]:
    section, room, rows = config.gradient, folder / GRADIENT, list[Row]()
    for start in range(0, section.steps, section.every):
        end = min(start + section.every, section.steps)
        seated_by = _mark(room, start) if start else begun

        def climbing(trained: Trainee, steps: range, adapter: Path = seated_by) -> None:
            met = positions(config, load_template(shipped=config.prompt), adapter, steps.start)
            tell(f"{len(met)} positions of its own games")
            climb(trained, met, config, steps, tell)

        _train(config, room, start, end, climbing, begun, tell)
        raw = RAW * (end == section.steps)
        rows.append(_row(config, folder, GRADIENT, end, _mark(room, end), tell, raw=raw))
    return rows


def _train(
    config: PostTrainingConfig, room: Path, start: int, end: int, training: Callable[[Trainee, range], None],
    begun: Path | None, tell: Callable[[str], None],
) -> None:  # fmt: skip
    """From one mark to the next, if that is not there; ``begun``: the adapter before the first, None for a new one."""
    if (_mark(room, end) / DONE).is_file():
        return
    tell(f"{room.name}: steps {start + 1} to {end}")
    began = time.process_time()
    trained = trainee(config, _mark(room, start) if start else begun, anew=not start)
    training(trained, range(start, end))
    trained.save(_mark(room, end))
    write(_mark(room, end) / "took.json", {"seconds": round(time.process_time() - began, 1)})


def claim(config: PostTrainingConfig, folder: Path) -> None:
    """Keep what all adapters are made by. Raises :class:`InputError` where those in ``folder`` were made otherwise."""
    shared = config.model_dump(mode="json", include={"model", "dtype", "prompt", "seed", "games", "adapter", "cloning"})
    rooms = {arm.name: {**shared, "reward": arm.reward} for arm in config.arms}
    if config.gradient.steps:
        gradient = config.gradient.model_dump(mode="json", exclude={"steps"})
        rooms[GRADIENT] = {**rooms[config.arms[0].name], "gradient": gradient}
    for name, what in rooms.items():
        kept = read(folder / name / _MADE_BY)
        if kept is not None and kept != what:
            changed = ", ".join(sorted(key for key in what if kept.get(key) != what[key]))
            raise InputError(
                f"{folder / name} was made with another value of {changed}: name another output_dir, or remove it"
            )
    for name, what in rooms.items():
        write(folder / name / _MADE_BY, what)


def _mark(room: Path, step: int) -> Path:
    return room / f"step_{step:05d}"


def examples_of(
    config: PostTrainingConfig, arm: ArmSection, room: Path, tell: Callable[[str], None]
) -> tuple[list[Example], Row]:
    """The examples of an arm, played and kept in the folder ``room`` unless they are there; and how chosen."""
    path, kept = room / EXAMPLES, read(room / _NAMES)
    if kept is None or not path.is_file():
        found = collect(config.games, arm.reward, load_template(shipped=config.prompt), config.seed)
        write_examples(path, found.examples)
        kept = {"games": found.games, "kept": found.kept, "least": found.least, "examples": len(found.examples)}
        write(room / _NAMES, kept)
    tell(
        f"{arm.name}: {kept['examples']:,} acts out of {kept['kept']:,} of {kept['games']:,} games, "
        f"which paid at least {kept['least']:.1f}"
    )
    return read_examples(path), kept


def _row(
    config: PostTrainingConfig, folder: Path, arm: str, step: int, adapter: Path | None, tell: Callable[[str], None],
    *, raw: int = 0,
) -> Row:  # fmt: skip
    what = {
        "model": config.model, "adapter": None if adapter is None else fingerprint(adapter / DONE),
        "prompt": config.prompt, "dtype": config.dtype, "seed": config.seed, "turns": config.games.max_turns,
        "held_out": config.held_out.model_dump(mode="json"), "raw": raw,
    }  # fmt: skip
    path = place(folder / MEASURED, what)
    found = read(path)
    if found is None:
        found = measured(config, adapter, raw)
        write(path, found)
    took = None if adapter is None else read(adapter / "took.json")
    points = [value for each in found["partners"].values() for seat in each["points"] for value in seat]
    tell(f"{arm}, step {step}: {sum(points) / len(points):.2f} points in {len(points):,} held-out games")
    return {"arm": arm, "step": step, **found, "training_seconds": None if took is None else took["seconds"]}


def keep_rows(path: Path, config: PostTrainingConfig, rows: list[Row]) -> None:
    """One line of the settings, then a line each."""
    head = {"config": {**config.model_dump(mode="json"), "output_dir": None}}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(f"{json.dumps(row)}\n" for row in (head, *rows)))
