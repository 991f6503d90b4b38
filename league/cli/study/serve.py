"""Serve a study to participants: consent, instructions and check, games, questionnaire, completion code.

It is reached from this machine alone, by whoever is logged in here. With --host others reach it: then it asks for a
password, which is taken from DOND_STUDY_PASSWORD or typed, and all texts must have been written. There is no TLS:
whoever is on the network between reads along, the password and the cookies too, unless a proxy or a tunnel brings it.
The same command goes on with a study that was stopped; what participants did is on disk before anybody is answered.

examples:
  dond study serve                               # with configs/study.yaml
  dond study serve --config configs/study.yaml --set output_dir=runs/pilot --port 9000
  dond study serve --config configs/study.yaml --host 0.0.0.0
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from dond_marl.errors import InputError, RunFailure
from dond_marl.records.files import write_atomically
from league.cli.shell import Command, config_option, say, set_option, whole
from league.cli.stops import STOPS
from league.ledger.run_directory import SETTINGS, RunDirectory
from league.settings.read import dump, load_config, parse
from league.web.server import HOST, free_port, is_loopback

PASSWORD = "DOND_STUDY_PASSWORD"  # noqa: S105  # the name of an environment variable
CLOSING = 4.5  # seconds in which open pages are told and closed
CONNECTIONS = 1000  # open at once, those that wait included
STOPPED = "the study is closed; everything that was done is kept, and the same command goes on with it"


@click.command(cls=Command, help=__doc__, interrupted=STOPPED)
@config_option("study.yaml", default="configs/study.yaml", help="a YAML file (study.yaml)")
@set_option
@click.option("--port", type=whole(0, 65535), metavar="N", help="0 for any free port (8080 if it is free, else any)")
@click.option("--host", default=HOST, metavar="ADDRESS", help=f"to be reached at ({HOST}: from this machine alone)")
def command(config_path: Path, overrides: tuple[str, ...], port: int | None, host: str) -> None:
    """Serve until stopped."""
    import uvicorn

    from league.web.study.app import application
    from league.web.study.folder import is_study
    from league.web.study.hall import Hall
    from league.web.study.journal import JOURNAL, Journal, read_journal
    from league.web.study.settings import StudyConfig

    config = load_config(config_path, overrides, StudyConfig)
    alone = is_loopback(host)
    if not alone and config.templates_left:
        raise InputError(
            f"{config_path}: texts.{', texts.'.join(config.templates_left)} still hold [REPLACE ...]: write them "
            "before others reach the study, the consent text above all"
        )
    password = _password(alone)
    try:
        port = free_port(port, host)
    except OSError as error:
        where = f"--host {host}" if port is None else f"--host {host} with --port {port}"
        raise InputError(f"{where} cannot be used ({error.strerror}); name another") from None
    folder = Path(config.output_dir).expanduser()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with RunDirectory(folder):
        kept = folder / SETTINGS
        if kept.is_file():
            before = parse(kept.read_text(encoding="utf-8"), str(kept), StudyConfig)
            keys = [key for key in StudyConfig.model_fields if key != "output_dir"]  # a folder may be moved
            changed = [key for key in keys if getattr(before, key) != getattr(config, key)]
            if changed:
                raise InputError(
                    f"{folder} is a study with other settings of {', '.join(changed)} ({kept}): give the new one "
                    "another folder with --set output_dir=FOLDER, or go on with those of before"
                )
        elif is_study(folder) and read_journal(folder):
            raise InputError(f"{folder} holds a study's journal without its {SETTINGS}: restore it from a copy")
        journal = Journal(folder / JOURNAL)
        hall = Hall(config, journal, tell=say)
        if not kept.is_file():  # kept once everybody in them could be seated, and before anything has happened
            write_atomically(kept, dump(config))
        hall.start()
        known = len(hall.progress.participants)
        went_on = f", with the {known} participants of before" if known else ""
        named = f"[{host}]" if ":" in host else host
        where = " on this machine" if alone else ""
        say(f"open http://{named}:{port}/ in a browser{where}: the study of {folder}{went_on}; Ctrl-C stops it")
        if not alone:
            say(
                "others reach it: who has the password takes part; no TLS, so tunnel or proxy it where you trust nobody"
            )
        STOPS.within = CLOSING
        app = application(hall, password, host if alone else None)
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                host=host,
                port=port,
                log_level="error",
                access_log=False,  # addresses are nobody's business
                server_header=False,
                limit_concurrency=CONNECTIONS,
                timeout_graceful_shutdown=1,
                timeout_keep_alive=15,
                h11_max_incomplete_event_size=32 * 1024,
            )
        )
        try:
            server.run()
        finally:
            journal.close()
        if not server.started:
            raise RunFailure(f"http://{named}:{port}/ cannot be served; is the address this machine's?")


def _password(alone: bool) -> str | None:
    """What must be known to come in; ``None`` on this machine's own address where none is set."""
    from league.web.study.door import SHORTEST_PASSWORD

    given = os.environ.get(PASSWORD)
    if given is None and alone:
        return None
    if given is None and sys.stdin.isatty():
        given = str(click.prompt("password of the study", hide_input=True, confirmation_prompt=True))
    if given is None:
        raise InputError(f"with --host the study needs a password: put one into {PASSWORD}, or start it in a terminal")
    if len(given) < SHORTEST_PASSWORD:
        raise InputError(f"a password of the study has at least {SHORTEST_PASSWORD} characters; got {len(given)}")
    return given
