"""A member of a league that learned, as a checkpoint that anybody can seat, with everybody in its past noted in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dond_marl.errors import InputError, quote
from league.ledger.ledger import ReadLedger
from league.ledger.run_directory import named_run
from league.settings.read import Config
from league.tasks.provenance import league_ancestries, learner_identity
from partners.provenance import KEYS, NO_PAST, Ancestry, OccupantProvenance, read_past


def export(run: Path, name: str, target: Path) -> dict[str, Any]:
    """Write a learner of the league in the folder ``run``, as it stands, or a snapshot, as ``target`` (a ``.json``).

    The checkpoint holds the network alone; its note, which is returned, names the member. Raises
    :class:`dond_marl.errors.InputError` for a member that did not learn there or a target of another ending, and what
    reading the run raises.
    """
    from league.tasks.blobs import read_blob  # PyTorch is loaded from here on
    from partners.network.checkpoint import NETWORK, network_note, save_checkpoint

    if target.suffix != ".json":
        raise InputError(f"a checkpoint is written as FILE.json, its weights beside it; got {quote(str(target))}")
    directory = named_run(run)
    with ReadLedger(directory.ledger) as ledger, ledger.still():
        members, states, config = ledger.members(), ledger.states(), ledger.config()
    learned = {member.name: member for member in members if member.spec is None}
    if name not in learned:
        raise InputError(f"{directory.path} has no learner or snapshot {quote(name)}; it has {', '.join(learned)}")
    member = learned[name]
    blob = states[name].blob if member.blob is None else member.blob
    weights = read_blob(directory.blobs, blob)
    past = past_of_blob(weights.about, config, member.parent or name)
    of_network = {key: value for key, value in weights.tensors.items() if key.startswith(NETWORK)}
    note = {**network_note(weights.network()), **past.note(), "league_member": name, "blob": blob}
    save_checkpoint(target, of_network, note)
    return note


def past_of_blob(note: dict[str, Any], config: Config, learner: str) -> Ancestry:
    """Everybody in the past of a learner's weights, the learner itself too.

    A blob of an older version has no note of it: there it is derived from the league's settings, and the past of
    weights that these name is not known.
    """
    own = read_past(note) if KEYS[0] in note else league_ancestries(config, files=False)[learner]
    return NO_PAST.add_parent(OccupantProvenance(learner_identity(config, learner), own))
