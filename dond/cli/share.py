"""Write runs as tables, checkpoints or hub folders."""

from __future__ import annotations

import re
from pathlib import Path

import click

from dond.cli.shell import FILE, Command, integer, print_line
from dond_marl.errors import InputError, RunFailure, missing_library, quote
from dond_marl.occupants import parse_spec
from league.ledger.run_directory import find_run
from league.ledger.run_names import expand_run_name
from league.tables.export import FORMATS, TABLES, export_tables
from partners.network.checkpoint_files import CheckpointError

CHECKPOINT = "checkpoint"
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
MOST = 100_000  # scenarios that a policy is scored on
SHOWN = 3  # sentences on what is left out


@click.command(cls=Command, interrupted="incomplete files are removed", run_errors=(CheckpointError,))
@click.argument("run", type=FILE)
@click.option("--to", "kind", type=click.Choice([*FORMATS, CHECKPOINT]), required=True, help="file format")
@click.option("--table", "names", type=click.Choice([*TABLES]), multiple=True, help="one table; may be repeated (all)")
@click.option("--member", metavar="NAME", help="with --to checkpoint: a learner, or a snapshot such as main@6")
@click.option("--out", type=FILE, metavar="PATH", help="folder of the tables (RUN/export), or file of the checkpoint")
def export(run: Path, kind: str, names: tuple[str, ...], member: str | None, out: Path | None) -> None:
    """Write a league's ledger as plain tables (games, acts, payoffs, ratings), or a member of it as a checkpoint.

    Every column is explained in docs/LEDGER.md. Acts are replayed from the ledger; those of language models and people
    cannot be replayed, and the members left out are named. A checkpoint records its opponents in training.

    examples:
      dond export runs/league/0001 --to parquet           # four files in runs/league/0001/export
      dond export runs/league --to csv --table games      # the newest run, one table
      dond export runs/league/0001 --to checkpoint --member main --out main.json
    """
    folder = find_run(run).path
    if kind == CHECKPOINT:
        if member is None or out is None or names:
            raise InputError("--to checkpoint needs --member NAME and --out FILE.json, and takes no --table")
        from league.ledger.export import export_checkpoint  # loads PyTorch

        note = export_checkpoint(folder, member, out)
        print_line(f"written: {out}, with {len(note['met'])} in its past; seat it as checkpoint(path='{out}')")
        return
    if member is not None:
        raise InputError("--member is for --to checkpoint")
    left_out: list[str] = []
    for path in export_tables(folder, kind, out or folder / "export", names or TABLES, left_out.append):
        print_line(f"written: {path}")
    _print_left_out("left out of the acts", left_out)


@click.command(cls=Command, interrupted="incomplete files are removed", run_errors=(CheckpointError,))
@click.argument("source", metavar="OCCUPANT|RUN")
@click.option("--transcripts", is_flag=True, help="of RUN: its games, as a data set")
@click.option("--out", type=FILE, metavar="FOLDER", help="the folder to write (push/model or push/transcripts)")
@click.option("--sample", type=integer(1, MOST), metavar="N", help="score a model on N held-out scenarios (all)")
@click.option("--dry-run", is_flag=True, help="write the folder, upload nothing")
@click.option("--to", metavar="NAME", help="OWNER/REPOSITORY on the hub: upload it there")
def push(source: str, transcripts: bool, out: Path | None, sample: int | None, dry_run: bool, to: str | None) -> None:
    """Write a model, or a league's transcripts, as a folder for the Hugging Face hub; with --to, upload it.

    OCCUPANT is a checkpoint's .json, a training's folder for its newest one, or a league's folder with a member. RUN
    is a league's folder, or a folder of leagues for the newest. Without --to nothing leaves this machine. An upload
    takes its token from HF_TOKEN, or from `hf auth login`.

    examples:
      dond push runs/ppo_fast --dry-run                   # the newest checkpoint: push/model, to look at
      dond push runs/league/0001:main --out main_model --dry-run
      dond push runs/league --transcripts --dry-run       # the games of the newest league as a data set
      dond push runs/ppo_fast --to OWNER/dond-ppo         # written, then uploaded, private
    """
    if dry_run == (to is not None):
        raise InputError("give either --dry-run to write the folder only, or --to OWNER/REPOSITORY to upload it too")
    if to is not None and not HUB_NAME.fullmatch(to):
        raise InputError(f"--to must be OWNER/REPOSITORY, such as me/dond-ppo; got {to}")
    token = None if to is None else _token()
    folder = out or Path("push") / ("transcripts" if transcripts else "model")
    title = to.rpartition("/")[2] if to else ("dond-transcripts" if transcripts else "dond-model")
    from dond.cli.hub_folders import write_model, write_transcripts  # loads PyTorch

    if transcripts:
        left_out: list[str] = []
        games = write_transcripts(find_run(source).path, folder, title, left_out.append)
        _print_left_out("left out", left_out)
        print_line(f"written: {folder}, {games:,} games")
    else:
        kind, parameters = parse_spec(expand_run_name(source))
        if kind != CHECKPOINT:
            raise InputError(f"{quote(source)} is no learned policy but {kind}: there are no weights to share")
        write_model(Path(parameters["path"]), folder, title, sample)
        print_line(f"written: {folder}")
    if to is not None and token is not None:
        _upload(folder, to, token, "dataset" if transcripts else "model")


def _print_left_out(subject: str, sentences: list[str]) -> None:
    for sentence in sentences[:SHOWN]:
        print_line(f"{subject}: {sentence}", "yellow")
    if len(sentences) > SHOWN:
        print_line(f"and {len(sentences) - SHOWN:,} more", "yellow")


def _token() -> str:
    """The token of the hub; it is never shown. Raises :class:`InputError`."""
    try:
        from huggingface_hub import get_token
    except ModuleNotFoundError as error:
        raise missing_library(error, "`dond push --to`") or error from error
    token = get_token()
    if token is None:
        raise InputError("an upload needs a token: set HF_TOKEN, or log in with `hf auth login`; --dry-run needs none")
    return token


def _upload(folder: Path, to: str, token: str, kind: str) -> None:
    """Upload the folder to a private repository. Raises :class:`RunFailure`, without the token in its message."""
    from huggingface_hub import HfApi

    try:
        api = HfApi(token=token)
        api.create_repo(to, repo_type=kind, private=True, exist_ok=True)
        api.upload_folder(repo_id=to, repo_type=kind, folder_path=folder)
    except Exception as error:  # noqa: BLE001  # the library's own errors, of any kind: a refusal, the network
        reason = str(error).replace(token, "(the token)")
        raise RunFailure(f"{to} was not uploaded; {folder} is complete: {reason}") from None
    print_line(f"uploaded: {kind} {to}, private")
