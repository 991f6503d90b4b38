"""Write a model, or a league's transcripts, as a folder for the Hugging Face hub; with --to, upload it.

MODEL is a checkpoint's .json, or the folder of a training for its newest one. RUN is a league's folder, or a folder of
leagues for the newest. Without --to nothing leaves this machine. An upload takes its token from HF_TOKEN, or from `hf
auth login`.

examples:
  dond push runs/ppo_fast --dry-run                   # the newest checkpoint: push/model, to look at
  dond push main.json --out main_model --dry-run
  dond push runs/league --transcripts --dry-run       # the games of the newest league as a data set
  dond push runs/ppo_fast --to OWNER/dond-ppo         # written, then uploaded, private
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from dond_marl.errors import InputError, RunFailure, missing_library
from league.cli.shell import FILE, Command, say, whole
from league.ledger.run_directory import find_run
from partners.network.checkpoint_files import CheckpointError

NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


@click.command(cls=Command, help=__doc__, interrupted="what is not whole is not there", run_errors=(CheckpointError,))
@click.argument("what", metavar="MODEL|RUN")
@click.option("--transcripts", is_flag=True, help="of RUN: its games, as a data set")
@click.option("--out", type=FILE, metavar="FOLDER", help="the folder to write (push/model or push/transcripts)")
@click.option("--sample", type=whole(1, 100_000), metavar="N", help="score a model on N held-out scenarios (all)")
@click.option("--dry-run", is_flag=True, help="write the folder, upload nothing")
@click.option("--to", metavar="NAME", help="OWNER/REPOSITORY on the hub: upload it there")
def command(what: str, transcripts: bool, out: Path | None, sample: int | None, dry_run: bool, to: str | None) -> None:
    """Write the folder, and upload it where that is asked for."""
    if dry_run == (to is not None):
        raise InputError("say --dry-run to write the folder alone, or --to OWNER/REPOSITORY to upload it, not both")
    if to is not None and not NAME.fullmatch(to):
        raise InputError(f"--to must be OWNER/REPOSITORY, such as me/dond-ppo; got {to}")
    token = None if to is None else _token()
    folder = (out or Path("push") / ("transcripts" if transcripts else "model")).expanduser()
    title = to.rpartition("/")[2] if to else ("dond-transcripts" if transcripts else "dond-model")
    if transcripts:
        from league.cli.sharing.data_folder import write_transcripts

        left_out: list[str] = []
        games = write_transcripts(find_run(Path(what).expanduser()).path, folder, title, left_out.append)
        for sentence in left_out[:3]:
            say(f"left out: {sentence}", "yellow")
        say(f"written: {folder}, {games:,} games")
    else:
        from league.cli.sharing.model_folder import checkpoint_of, write_model  # loads PyTorch

        write_model(checkpoint_of(what), folder, title, sample)
        say(f"written: {folder}")
    if to is not None and token is not None:
        _upload(folder, to, token, "dataset" if transcripts else "model")


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
    """Upload the folder to a private repository. Raises :class:`RunFailure`, which does not hold the token."""
    from huggingface_hub import HfApi

    try:
        api = HfApi(token=token)
        api.create_repo(to, repo_type=kind, private=True, exist_ok=True)
        api.upload_folder(repo_id=to, repo_type=kind, folder_path=folder)
    except Exception as error:  # noqa: BLE001  # the library's own, of any kind: a refusal, the network
        said = str(error).replace(token, "(the token)")
        raise RunFailure(f"{to} was not uploaded; {folder} is whole: {said}") from None
    say(f"uploaded: {kind} {to}, private")
