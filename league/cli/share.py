"""Write runs as tables, checkpoints or hub folders, and regenerate the files that the package ships."""

from __future__ import annotations

import re
from pathlib import Path

import click

from dond_marl.errors import InputError, RunFailure, missing_library, quote
from dond_marl.game import SEATS
from dond_marl.occupants import parse_spec
from league.cli.experiment import experiment_module
from league.cli.shell import FILE, Command, Group, integer, print_line
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
    folder = find_run(run.expanduser()).path
    if kind == CHECKPOINT:
        if member is None or out is None or names:
            raise InputError("--to checkpoint needs --member NAME and --out FILE.json, and takes no --table")
        from league.ledger.export import export_checkpoint  # loads PyTorch

        note = export_checkpoint(folder, member, out.expanduser())
        print_line(f"written: {out}, with {len(note['met'])} in its past; seat it as checkpoint(path='{out}')")
        return
    if member is not None:
        raise InputError("--member is for --to checkpoint")
    left_out: list[str] = []
    for path in export_tables(folder, kind, out or folder / "export", names or TABLES, left_out.append):
        print_line(f"written: {path}")
    _print_left_out("left out of the acts", left_out)


@click.command(cls=Command, interrupted="incomplete files are removed", run_errors=(CheckpointError,))
@click.argument("source", metavar="MODEL|RUN")
@click.option("--transcripts", is_flag=True, help="of RUN: its games, as a data set")
@click.option("--out", type=FILE, metavar="FOLDER", help="the folder to write (push/model or push/transcripts)")
@click.option("--sample", type=integer(1, MOST), metavar="N", help="score a model on N held-out scenarios (all)")
@click.option("--dry-run", is_flag=True, help="write the folder, upload nothing")
@click.option("--to", metavar="NAME", help="OWNER/REPOSITORY on the hub: upload it there")
def push(source: str, transcripts: bool, out: Path | None, sample: int | None, dry_run: bool, to: str | None) -> None:
    """Write a model, or a league's transcripts, as a folder for the Hugging Face hub; with --to, upload it.

    MODEL is a checkpoint's .json, a training's folder for its newest one, or a league's folder with a member. RUN is a
    league's folder, or a folder of leagues for the newest. Without --to nothing leaves this machine. An upload takes
    its token from HF_TOKEN, or from `hf auth login`.

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
    folder = (out or Path("push") / ("transcripts" if transcripts else "model")).expanduser()
    title = to.rpartition("/")[2] if to else ("dond-transcripts" if transcripts else "dond-model")
    from league.cli.hub_folders import write_model, write_transcripts  # loads PyTorch

    if transcripts:
        left_out: list[str] = []
        games = write_transcripts(find_run(Path(source).expanduser()).path, folder, title, left_out.append)
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


@click.group(cls=Group)
def ship() -> None:
    """Regenerate files that the package ships, in a checkout: expert, references, equilibria."""


@ship.command(cls=Command, run_errors=(CheckpointError,))
@click.option(
    "--run", type=FILE, required=True, metavar="FOLDER", help="a training's folder, or the newest of those in it"
)
@click.option("--out", type=FILE, metavar="FILE", help="where to write it (the package)")
@click.option(
    "--sample", type=integer(1, MOST), metavar="N", help="score it on N held-out scenarios, for a trial (all)"
)
def expert(run: Path, out: Path | None, sample: int | None) -> None:
    """Make the newest checkpoint of a training run the shipped expert, and write its card.

    examples:
      dond ship expert --run runs/expert
    """
    from partners.network.occupants import EXPERT

    card = experiment_module("experiments.shipped_expert").ship_expert(run.expanduser(), out or EXPERT, sample)
    for name, score in card["scores"]["greedy"].items():
        interval = f"[{score['low']:.2f}, {score['high']:.2f}]"
        print_line(f"{name:24} {score['points']:5.2f} {interval}  {score['deals']:.1%} deals")
    print_line(f"written: {out or EXPERT}")


@ship.command(cls=Command)
@click.argument("partners", nargs=-1, metavar="[PARTNER]...")
@click.option(
    "--roster",
    "rosters",
    multiple=True,
    metavar="ROSTER",
    help="its members: train, dev or test; by default all three, and every occupant without required parameters",
)
@click.option("--again", is_flag=True, help="recompute results that exist and whose partner has not changed")
@click.option("--out", type=FILE, metavar="FILE", help="the file to add to (the package's)")
def references(partners: tuple[str, ...], rosters: tuple[str, ...], again: bool, out: Path | None) -> None:
    """Compute the maximum score against partners: exact best responses, or certified upper bounds.

    Each result is stored at once, so the command can be stopped and continued. The slowest come last.

    examples:
      dond ship references
      dond ship references --roster test
      dond ship references "boulware(exponent=2)" --out mine.json
    """
    from league.standings.references import STORED, Reference

    def print_reference(name: str, reference: Reference) -> None:
        for seat, side in zip(SEATS, reference.seats, strict=True):
            if side is None:
                print_line(f"{name:40} as {seat}: no bound")
                continue
            value = f"{side.high:6.3f}" if side.exact else f"at most {side.high:6.3f}, earned {side.low:6.3f}"
            print_line(f"{name:40} as {seat}: {value} ({side.how}, {side.seconds:.0f} s)")

    values = experiment_module("experiments.reference_values")
    chosen = values.references_to_ship(partners, rosters)
    values.ship_references(chosen, out or STORED, again=again, report=print_reference)
    print_line(f"written: {out or STORED}")


@ship.command(cls=Command)
@click.option("--turns", type=int, multiple=True, metavar="N", help="games of N turns (all)")
@click.option("--out", type=FILE, metavar="FOLDER", help="where to write them (the package)")
def equilibria(turns: tuple[int, ...], out: Path | None) -> None:
    """Compute equilibria of the game, measure the gain of deviations from each, and write the tables.

    examples:
      dond ship equilibria
      dond ship equilibria --turns 4 --out mine
    """
    from dond_marl.yardsticks.equilibria import STORED, TEMPERATURES

    if unknown := set(turns) - TEMPERATURES.keys():
        raise InputError(f"--turns takes 1 to {max(TEMPERATURES)}; got {min(unknown)}")
    solver = experiment_module("experiments.equilibrium_solver.make_tables")
    for table in solver.make_tables(out or STORED, turns or tuple(TEMPERATURES)):
        note = table.note
        first, second = note["values"]
        within = sum(note["gain_within_memory"])
        most = sum(high for _, high in note["gain_remembering"])
        print_line(
            f"{table.turns:2} turns at {table.temperature:5}: {first:.3f} and {second:.3f} points, "
            f"{note['deals']:.1%} deals; gains: {within:.4f} within memory, at most {most:.4f} with full memory"
        )
    print_line(f"written: {out or STORED}")
