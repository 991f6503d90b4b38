"""Occupants named by a run or a file: ``ppo_fast``, ``runs/ppo_fast/0001``, ``runs/league/0001:main``, ``main.json``.

A training stands for its newest checkpoint; a folder of runs for the newest of them. A league stands for nothing
without a member: a scripted member is its own spec; the network of a learner or snapshot is written next to the ledger,
as ``checkpoints/NAME-DIGITS.json``, with the first digits of its weights' digest.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any

from dond_marl.errors import InputError, UntrustedError, quote
from dond_marl.files import user_path
from dond_marl.occupants import (
    ANYTHING,
    NOTHING,
    OccupantNameError,
    Permission,
    Spec,
    catalogue,
    check_needs,
    read_spec,
)
from league.ledger.run_directory import (
    CHECKPOINTS,
    KINDS,
    LEDGER,
    RUNS,
    SETTINGS,
    RunError,
    find_run,
    run_folders,
    runs_in,
)
from partners.rosters import ROSTERS

DIGITS = 8  # of the digest of weights, in the name of their checkpoint


def spec_of_run(text: str, named: Spec | None, *, trust: bool) -> Spec | None:
    """The spec of the occupant that ``text`` names by a run or a file; ``None`` for another text.

    For names that a user gives: what is stored are the specs. Folders are looked up as given, then under ``runs``;
    a single word names a folder of ``runs`` only, and only if no occupant and no roster has that name. ``named``: the
    text as a spec, if it is one; ``trust`` as for :func:`dond_marl.occupants.expand_run_name`. Raises
    :class:`~dond_marl.occupants.OccupantNameError` for a run without a checkpoint, a league without that member, and a
    name that can be nothing else and does not exist, and :class:`~dond_marl.errors.UntrustedError`.
    """
    if named is not None:
        if named.kind != text or named in (*ROSTERS, *catalogue()) or not (RUNS / named).is_dir():
            return None
        text = str(RUNS / named)
    run_name, colon, member = text.strip().partition(":")
    try:
        path = next((candidate for candidate in (user_path(run_name), RUNS / run_name) if candidate.exists()), None)
    except OSError:  # the text is too long to be a path
        return None
    if path is None and run_name.endswith(".json"):
        raise OccupantNameError(f"{quote(text)}: there is no such file")
    if path is None and (RUNS in Path(run_name).parents or re.fullmatch(r"[\w./-]+/\d+", run_name)):
        begun = {str(run) for mark in KINDS for run in runs_in(RUNS, mark)}
        runs = {name.removeprefix(f"{RUNS}/"): name for run in begun for name in (run, str(Path(run).parent))}
        near = difflib.get_close_matches(run_name.removeprefix(f"{RUNS}/"), runs, n=1, cutoff=0.75)
        hint = f" (did you mean {runs[near[0]]}{colon}{member}?)" if near else ""
        raise OccupantNameError(f"{quote(text)}: there is no such run{hint}")
    if path is None or path.suffix == ".py":
        return None
    try:
        if member:
            return _member_of(find_run(path).path, member, ANYTHING if trust else NOTHING)
        return Spec("checkpoint", {"path": str(_newest_checkpoint(path))})
    except (OccupantNameError, UntrustedError):
        raise
    except (InputError, RunError, OSError) as error:
        raise OccupantNameError(f"{quote(text)}: {error}") from error


def expand_run_names(settings: Any, *, trust: bool = False) -> Any:
    """The settings of a user's file with the runs expanded that it names as partner, members or held-out members."""
    if not isinstance(settings, dict):
        return settings
    env = settings.get("env")
    if isinstance(env, dict) and "partner" in env:
        settings = {**settings, "env": {**env, "partner": _expand(env["partner"], trust)}}
    for key in ("members", "heldout"):
        if isinstance(settings.get(key), list):
            settings = {**settings, key: [_expand(item, trust) for item in settings[key]]}
    return settings


def _expand(value: object, trust: bool) -> object:
    """A spec, as text or as a mapping whose kind may be a run's name, with that expanded."""
    if isinstance(value, str) and not value.isidentifier():  # a word may be another name of a roster
        return spec_of_run(value, read_spec(value), trust=trust) or value
    if isinstance(value, dict) and isinstance(value.get("kind"), str) and "/" in value["kind"]:
        spec = spec_of_run(value["kind"], None, trust=trust)
        return value if spec is None else {**spec.parameters, **value, "kind": spec.kind}
    return value


def _newest_checkpoint(path: Path) -> Path:
    """The ``.json`` of a checkpoint: ``path`` itself, or the newest one in a training's folder, or in a folder of them.

    Raises :class:`InputError`.
    """
    if not path.is_dir():
        return path
    for run in (path, *run_folders(path)):
        if (run / LEDGER).is_file():
            raise InputError(f"{run} is a league; name one of its members, as in {run}:main")
    checkpoints = checkpoints_in(find_run(path, SETTINGS).path)
    if not checkpoints:
        raise InputError(f"{path} holds no checkpoint yet")
    return checkpoints[0]


def checkpoints_in(path: Path) -> list[Path]:
    """The notes of the checkpoints of the training in ``path``, newest first."""
    return sorted((path / CHECKPOINTS).glob("step_*.json"), reverse=True)


def _member_of(run: Path, name: str, allow: Permission) -> Spec:
    """The spec of a member of the league in ``run``, by name; a network is written next to the ledger.

    ``allow``: what other members' specs may need.
    """
    from league.ledger.ledger import ReadLedger

    with ReadLedger(run / LEDGER, allow) as ledger:
        members, allow = {member.name: member for member in ledger.members()}, ledger.allow
    trained, _, digits = name.rpartition("-")
    if name in members:
        trained, digits = name, ""
    elif trained not in members or members[trained].spec or re.fullmatch(f"[0-9a-f]{{{DIGITS}}}", digits) is None:
        raise InputError(f"{run} has no member {quote(name)}; it has {', '.join(members)}")
    spec = members[trained].spec
    if members[trained].is_outside:
        raise InputError(f"{run}: {trained} is a learner of another library, which plays in its league alone")
    if spec is not None:
        check_needs([spec], allow, str(run))
        return spec
    if Path(trained).name != trained:  # in a run of another person it may lead anywhere
        raise InputError(f"{run}: the member's name {quote(trained)} is a path, under which no file is written")
    from league.ledger.export import read_member  # loads PyTorch
    from partners.network.checkpoint import save_checkpoint

    network, note = read_member(run, trained, digits)
    # A learner's weights change with every round; with them in all names, no two members have the same file.
    target = run / CHECKPOINTS / f"{trained}-{note['blob'][:DIGITS]}.json"
    target.parent.mkdir(exist_ok=True)
    save_checkpoint(target, network, note)
    return Spec("checkpoint", {"path": str(target)})
