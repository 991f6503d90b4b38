"""What ``scripts/train.py --algo bc`` does: read the dialogues, teach, examine, and put the expert where it is read."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dond_marl.records.files import write_whole
from dond_marl.yardsticks.metrics import Estimate
from league.display.league import figure
from league.evaluation.likeness import Accuracy
from league.ledger.run_directory import SETTINGS, RunError, new_run
from league.settings.read import dump
from league.settings.training import TrainConfig
from league.training.clone import Lessons, Report, examine, lessons, plain, save, target, teach
from league.training.progress_log import CSV_NAME
from partners.learning.cloning import Epoch

REPORT = "report.json"
CHECKPOINT = Path("checkpoints") / "supervised.json"


def clone_expert(console: Console, config: TrainConfig) -> None:
    """Raises :class:`dond_marl.scenarios.data.DataError` before a run folder is made, and :class:`RunError`."""
    given = lessons(config)
    if config.training.device == "cuda":
        _check_cuda()
    directory = new_run(Path(config.logging.output_dir).expanduser())
    with directory:
        write_whole(directory.path / SETTINGS, dump(config))
        _say(console, f"teaching {_sizes(given)}; run folder {directory.path}")
        network, epochs = teach(config, given, lambda epoch: _say(console, status(epoch)))
        _write_epochs(directory.path / CSV_NAME, epochs)
        with console.status("") as status_line:  # shown on a terminal only
            report = examine(network, given, status_line.update)
        write_whole(directory.path / REPORT, json.dumps(plain(report), indent=1) + "\n")
        save(directory.path / CHECKPOINT, network, config, epochs, report)
        save(target(config), network, config, epochs, report)
    print_report(console, report, given)
    _say(console, f"the expert: {target(config)}, which expert(kind=supervised) reads; run folder {directory.path}")


def status(epoch: Epoch) -> str:
    """One epoch in one line."""
    return (
        f"epoch {epoch.epoch}: surprised by what others said {epoch.act:.3f} nats by the act and {epoch.oA:.3f} by the "
        f"split, by what it was taught {epoch.learned_act:.3f} and {epoch.learned_oA:.3f}{', the best' * epoch.best}"
    )


def print_report(console: Console, report: Report, given: Lessons) -> None:
    """What the expert is worth, as tables."""
    unseen, told = given.unseen, report.likeness
    _say(
        console,
        f"\nbeside people, at {unseen.size:,} positions of test that nothing was taught from, "
        f"{int(unseen.replies.sum()):,} of them replies; 95 % intervals over scenarios",
    )
    table = _table("says", "the same act", "in replies", "the same split, of offers")
    rows = {"supervised expert": told.accuracy, "what people say most": report.majority, "heuristic": report.heuristic}
    for name, row in rows.items():
        table.add_row(name, *_percents(row))
    console.print(table)
    everywhere, replies = report.more_than_majority
    _say(
        console,
        f"more than the majority: {_points(everywhere)} points of accuracy, in replies {_points(replies)}; "
        f"cross-entropy {figure(told.act_nats)} nats of an act, {figure(told.oA_nats)} of an offer's split",
    )
    table = _table("act", "said", "expected", "of said, expected", "of expected, said")
    for act in told.acts:
        table.add_row(
            act.act, f"{act.said:,}", f"{act.expected:,}", _share(act.both, act.said), _share(act.both, act.expected)
        )
    console.print(table)
    _say(console, f"calibration of the act: expected error {told.calibration_error:.1%}")
    table = _table("probability", "positions", "mean", "said")
    for each in told.reliability:
        if each.n:
            table.add_row(
                f"{each.low:.1f} to {each.high:.1f}", f"{each.n:,}", f"{each.confidence:.1%}", f"{each.accuracy:.1%}"
            )
    console.print(table)
    _say(console, "play on the held-out scenarios, where DISAGREE ends the game: own points of ten")
    table = _table("against", "greedy", "sampled")
    table.add_row("zoo", figure(report.greedy.zoo.points), figure(report.sampled.zoo.points))
    for name, points in report.greedy.zoo.against.items():
        table.add_row(name, figure(points), figure(report.sampled.zoo.against[name]))
    table.add_row("deals with the zoo", f"{report.greedy.zoo.deals:.1%}", f"{report.sampled.zoo.deals:.1%}")
    console.print(table)
    for name, share in report.greedy.shares.items():
        earned = f"{share.mean:.1%} ±{share.margin:.1%}"
        line = f"against the heuristic greedy play earns {earned} of what the {name} earns there"
        _say(console, line.replace("the Nash earns", "the Nash points pay"))


def _sizes(given: Lessons) -> str:
    return (
        f"{given.taught.size:,} positions of people in every order of the items, {given.others.size:,} others say when "
        "to stop"
    )


def _check_cuda() -> None:
    import torch

    if not torch.cuda.is_available():
        raise RunError("training.device is cuda, but PyTorch finds no CUDA device here; say training.device=cpu")


def _write_epochs(path: Path, epochs: list[Epoch]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(Epoch._fields)
        rows.writerows([f"{value:.6g}" if isinstance(value, float) else value for value in epoch] for epoch in epochs)


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


def _percents(row: Accuracy) -> list[str]:
    return [f"{100 * each.mean:.1f} % ±{100 * each.margin:.1f}" for each in row]


def _points(estimate: Estimate) -> str:
    return f"{100 * estimate.mean:+.1f} ±{100 * estimate.margin:.1f}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _say(console: Console, line: str) -> None:
    console.print(Text(line), soft_wrap=True)
