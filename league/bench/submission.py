"""Who is submitted to the benchmark: any occupant, a checkpoint, a member of a league; networks always greedy."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.errors import InputError
from dond_marl.occupants import OccupantNameError, parse_spec, seat_occupant, short_names, spec_name
from dond_marl.seats import Partner
from league.ledger.export import blob_ancestry
from league.ledger.ledger import ReadLedger
from league.ledger.run_directory import find_run
from league.tasks.seating import SEATING
from league.tasks.values import Entrant, Place
from partners.provenance import (
    OccupantProvenance,
    confirm_opponents_unseen,
    held_out_sources,
    provenance_of,
    roster_test_members,
)

NETWORKS = ("checkpoint", "expert")  # occupants that sample or not, as their parameter ``greedy`` says
LIST_FROM = "of"  # the parameter that holds a list of occupants


class Who(NamedTuple):
    """Somebody who can be seated in any process: by a spec, or by weights of a league's run."""

    spec: str | None
    weights: tuple[Entrant, Place] | None = None

    def partner(self) -> Partner:
        """The occupant, made once per process. Raises :class:`~dond_marl.occupants.OccupantNameError`."""
        return _partner(self)


class Submission(NamedTuple):
    """Who is measured, and what the results line says of it."""

    who: Who
    name: str  # in the leaderboard
    known: OccupantProvenance  # its identity, the same on every machine, and everybody in its past
    seed: int | None = None  # of its training: results of one name that differ in it are seeds of one arm
    declared: str | None = None  # whom it met, in the words of whoever submits it
    settings_sha256: str | None = None  # of the league that it comes from
    acts: int | None = None  # environment acts of its whole training, of all learners together, where they are known


def of_spec(text: str, name: str | None = None) -> Submission:
    """A submission of an occupant, or of the checkpoint whose ``.json`` is named.

    Networks play greedily, whatever their default. Raises :class:`~dond_marl.occupants.OccupantNameError` and
    :class:`~dond_marl.errors.InputError` where ``greedy=False`` is asked for.
    """
    stripped = text.strip()
    if stripped.endswith(".json") and "(" not in stripped:
        spec: dict[str, Any] | str = {"kind": "checkpoint", "path": stripped}
    else:
        spec = stripped
    written = spec_name(greedy_spec(spec))
    kind, parameters = parse_spec(spec)
    if kind in NETWORKS:  # every network here is greedy
        parameters.pop("greedy", None)
    usual = spec_name({"kind": kind, **parameters})
    return Submission(Who(written), name or short_names([usual]).get(usual, usual), provenance_of(written))


def of_run(folder: Path, member: str | None, name: str | None = None) -> Submission:
    """A submission of a member of a league, as it stands in the ledger or as a snapshot kept it.

    ``member`` may be left out where the league has one main member. Raises :class:`~dond_marl.errors.InputError` for a
    member that is not there, and what opening the ledger raises.
    """
    directory = find_run(folder)
    with ReadLedger(directory.ledger) as ledger, ledger.snapshot():
        if not ledger.has_begun:
            raise InputError(f"{directory.path}: the run was stopped before it began; take another run")
        members, states, meta, config = ledger.members(), ledger.states(), ledger.meta(), ledger.config()
    by_name = {each.name: each for each in members}
    mains = [each.name for each in members if each.role == "main"]
    if member is None and len(mains) != 1:
        raise InputError(f"--member says whom of {directory.path} to measure: one of {', '.join(by_name)}")
    chosen = mains[0] if member is None else member
    if chosen not in by_name:
        raise InputError(f"{directory.path} has no member {chosen!r}; it has {', '.join(by_name)}")
    found = by_name[chosen]
    if found.spec is not None and found.blob is None and not found.live:
        return of_spec(found.spec, name or chosen)
    blob = states[chosen].blob if found.live else found.blob
    digest = hashlib.sha256("".join(f"{key}\n{meta[key]}\n" for key in sorted(meta)).encode()).hexdigest()
    assert blob is not None
    from league.tasks.blobs import read_blob  # loads PyTorch

    past = blob_ancestry(read_blob(directory.blobs, blob).about, config, found.parent or chosen)
    identity = spec_name({"kind": "checkpoint", "greedy": True, "sha256": blob})
    who = Who(None, (Entrant(found, blob), Place(directory.blobs)))
    return Submission(who, name or chosen, OccupantProvenance(identity, past), settings_sha256=digest)


def greedy_spec(spec: Mapping[str, Any] | str) -> dict[str, Any]:
    """The spec with every network in it told to play its likeliest act; raises where it is told not to."""
    kind, parameters = parse_spec(spec)
    if kind in NETWORKS:
        if not parameters.get("greedy", True):
            raise InputError(
                f"the benchmark's protocol is that networks play their likeliest act; leave greedy=False out of {kind}"
            )
        parameters["greedy"] = True
    inside = {key: _greedy_inside(key, value) for key, value in parameters.items()}
    return {"kind": kind, **inside}


def _greedy_inside(key: str, value: Any) -> Any:
    if key == LIST_FROM and isinstance(value, list | tuple):
        return [_greedy_inside(key, each) for each in value]
    if isinstance(value, Mapping) and "kind" in value:
        return greedy_spec(value)
    if isinstance(value, str):
        try:
            if parse_spec(value)[0] in NETWORKS:
                return spec_name(greedy_spec(value))
        except OccupantNameError:  # another text, such as a path
            return value
    return value


@lru_cache(maxsize=64)
def _partner(who: Who) -> Partner:
    if who.weights is not None:
        member, place = who.weights
        return SEATING.partner(member, place, greedy=True)
    assert who.spec is not None
    return seat_occupant(who.spec)


class Provenance(NamedTuple):
    """Who is submitted and whom it met, as the results line says it."""

    identity: str  # the same on every machine: networks by the SHA-256 of their weights
    met: str  # in what words that is known
    met_here: tuple[str, ...]  # identities of the partners it is measured against that are in its past


def provenance(submission: Submission, partners: Sequence[str]) -> Provenance:
    """Who is submitted, once it may be measured against ``partners``.

    Raises :class:`partners.provenance.ProvenanceError` where one of them is of the roster test and the submission, or
    an ancestor of it, has met that roster, or where nobody wrote down whom it met and nothing is declared.
    """
    identity, past = submission.known
    met = confirm_opponents_unseen(partners, past, submission.name, submission.declared)
    if met is None:
        met = f"known: {len(past.opponents)} in its past" if not past.unknown else "not written down"
        met = met if submission.declared is None else f"{met}; declared: {submission.declared}"
    if seen := held_out_sources(past):
        met += f"; trained on views that are held out, in {' and '.join(seen)}"
    return Provenance(identity, met, tuple(roster_test_members(past, partners)))
