"""Work with the published dialogues and with files of games: download, measure, convert, replay."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from dond.cli.shell import FILE, Command, Group, print_line
from dond_marl.dialogues.games import games
from dond_marl.dialogues.human_line import as_lines, human_line, store, stored_human_line, to_json
from dond_marl.records.files import read_lines, write_atomically, write_lines
from dond_marl.records.record import GameRecord, InexactGame, RecordError, replay
from dond_marl.records.transcript import transcript
from dond_marl.scenarios.data import BASE_URL, DEFAULT_DATA_DIR, DIALOGUE_SPLITS, DataError
from dond_marl.scenarios.data import fetch as bring

out_option = click.option("--out", type=FILE, required=True, metavar="FILE", help="where to write; replaces a file")


@click.group(cls=Group, help=__doc__)
def command() -> None:
    """Group of the data commands."""


@command.command(cls=Command, interrupted="files that were not complete have been removed")
@click.option(
    "--data-dir", type=FILE, default=DEFAULT_DATA_DIR, metavar="FOLDER", help=f"where to put them ({DEFAULT_DATA_DIR})"
)
@click.option("--url", metavar="ADDRESS", default=BASE_URL, help=f"where to download them from ({BASE_URL})")
def fetch(data_dir: Path, url: str) -> None:
    """Download the four published data files (Lewis et al. 2017, CC BY-NC 4.0) and verify them by SHA-256.

    examples:
      dond data fetch
      dond data fetch --data-dir ~/negotiation-data
    """
    bring(data_dir, url, print_line)


@command.command(cls=Command, run_errors=(DataError,))
@click.option(
    "--data-dir", type=FILE, metavar="FOLDER", help="folder of the published files (none: the figures in the package)"
)
@click.option("--json", "json_path", type=FILE, metavar="FILE", help="also write the figures to a file")
@click.option("--store", "keep", is_flag=True, help="keep the human line in the package")
def humans(data_dir: Path | None, json_path: Path | None, keep: bool) -> None:
    """Measure how people bargain in the published dialogues.

    examples:
      dond data humans                            # the figures kept in the package; needs no data
      dond data humans --data-dir data            # computed again from the files
      dond data humans --data-dir data --store    # and keep the human line in the package
    """
    if data_dir is None and keep:
        raise click.UsageError("--store needs the published files: name their folder with --data-dir")
    line = stored_human_line() if data_dir is None else human_line(data_dir)
    for text in as_lines(line):
        print_line(text)
    if keep:
        store(line)
    if json_path is not None:
        write_atomically(json_path, json.dumps({"human_line": to_json(line)}, indent=1) + "\n")


@command.group(cls=Group)
def transcripts() -> None:
    r"""Games as JSON lines: import people's dialogues, replay a file, show it as text.

    examples:
      dond data transcripts dialogues --data-dir data --split test --out talks.jsonl
      dond data transcripts replay games.jsonl --show 2
    """


@transcripts.command(cls=Command)
@click.option("--data-dir", type=FILE, metavar="FOLDER", help="folder of the published files (data)")
@click.option("--split", "splits", type=click.Choice(DIALOGUE_SPLITS), multiple=True, help="only this file")
@out_option
def dialogues(data_dir: Path | None, splits: tuple[str, ...], out: Path) -> None:
    """Write people's dialogues as games; a dialogue that is not an exact game is marked with the reason."""
    _write(out, (game for split in splits or DIALOGUE_SPLITS for game in games(split, data_dir)))


@transcripts.command("replay", cls=Command, run_errors=(RecordError,))
@click.argument("file", type=FILE)
@click.option("--show", type=int, default=0, metavar="N", help="show the first N in words (0)")
def replay_file(file: Path, show: int) -> None:
    """Replay every game of a file."""
    exact, endings, reasons = 0, Counter[str](), Counter[str]()
    for number, game in enumerate(read_lines(file), start=1):
        try:
            if number <= show:
                print_line(f"{transcript(game)}\n")
            if isinstance(game, InexactGame):
                reasons["".join(letter for letter in game.inexact.split(":")[0] if not letter.isdigit())] += 1
                continue
            replay(game)
        except RecordError as error:
            raise RecordError(f"{file}:{number}: {error}") from None
        exact += 1
        endings[game.outcome.ending.name] += 1
    counts = ", ".join(f"{name} {times:,}" for name, times in endings.most_common())
    print_line(f"{exact:,} games replay to the outcome they state ({counts})" if exact else "no exact game")
    for reason, times in reasons.most_common():
        print_line(f"  {times:,} are no exact games: {' '.join(reason.split())}")


def _write(path: Path, lines: Iterator[GameRecord | InexactGame]) -> None:
    exact, inexact = write_lines(path, lines)
    marked = f", {inexact:,} more that are no exact games, marked with the reason" if inexact else ""
    print_line(f"written: {path}, {exact:,} games that replay exactly{marked}")
