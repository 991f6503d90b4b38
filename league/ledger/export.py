"""Export of a learner or snapshot as a checkpoint file, with its provenance (all partners in its past) in the note."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dond_marl.errors import InputError, quote
from league.ledger.ledger import open_run
from league.play.provenance import learner_identity
from league.settings.read import Config
from partners.provenance import NO_PAST, Ancestry, OccupantProvenance, read_past

if TYPE_CHECKING:
    from torch import Tensor


def export_checkpoint(run: Path, name: str, target: Path) -> dict[str, Any]:
    """Write the latest network of a learner, or a snapshot, of the league in ``run`` to ``target`` (a ``.json``).

    Returns the note of the checkpoint, which names the member. Raises :class:`dond_marl.errors.InputError` for a target
    with another suffix, and what :func:`read_member` raises.
    """
    from partners.network.checkpoint import save_checkpoint

    if target.suffix != ".json":
        raise InputError(f"a checkpoint is written as FILE.json, its weights next to it; got {quote(str(target))}")
    network, note = read_member(run, name)
    save_checkpoint(target, network, note)
    return note


def read_member(run: Path, name: str, digits: str = "") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and note of a checkpoint of a learner as it is now, or of a snapshot, of the league in ``run``.

    The note's ``blob`` is the digest of the weights; ``digits``: the first of it, for those of an earlier round. Raises
    :class:`dond_marl.errors.InputError` for a member without such weights, and the errors of opening the run.
    """
    from league.play.blobs import read_blob  # PyTorch is loaded from here on
    from partners.network.checkpoint import NETWORK, network_note

    with open_run(run) as (ledger, directory):
        members, config, played = ledger.members(), ledger.config(), ledger.next_round
        stages = [ledger.stage(number) for number in range(played)]
        states = [(rounds, ledger.states(rounds - 1).get(name)) for rounds in range(played + 1)]
    trained = {member.name: member for member in members if member.has_network}
    if any(member.name == name and member.is_outside for member in members):
        raise InputError(f"{directory.path}: {name} is a learner of another library: save it from its own class")
    if name not in trained:
        raise InputError(f"{directory.path} has no learner or snapshot {quote(name)}; it has {', '.join(trained)}")
    member = trained[name]
    if member.blob is not None:
        rounds_of = {member.blob: member.born}
    else:
        rounds_of = {state.blob: rounds for rounds, state in states if state is not None}
    blob = max((blob for blob in rounds_of if blob.startswith(digits)), key=rounds_of.__getitem__, default=None)
    if blob is None:
        raise InputError(f"{directory.path}: {quote(name)} never had weights {quote(digits)}")
    weights = read_blob(directory.blobs, blob)
    past = blob_ancestry(weights.about, config, member.parent or name)
    network = {key: value for key, value in weights.tensors.items() if key.startswith(NETWORK)}
    note = {
        **network_note(weights.network()),
        **past.note(),
        "league_member": name,
        "blob": blob,
        "reward": _rewards(config, member.parent or name, stages[: rounds_of[blob]]),
    }
    return network, note


def _rewards(config: Config, learner: str, stages: Iterable[int]) -> str:
    """The rewards of a learner in ``stages``, the stage of each of its rounds, in the order of their first use."""
    base = next(row for row in config.learners if row.name == learner)
    changed = (config.curriculum[stage].learner(base) for stage in stages)
    return ", then ".join(dict.fromkeys(row.reward for row in changed if row is not None)) or base.reward


def blob_ancestry(note: dict[str, Any], config: Config, learner: str) -> Ancestry:
    """All partners in the past of a learner's weights, from the ``note`` of its blob, and the learner itself."""
    return NO_PAST.add_parent(OccupantProvenance(learner_identity(config, learner), read_past(note)))
