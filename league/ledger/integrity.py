"""Whether a run is still what was written (rows by their seals, weights by their names), and its repair.

A round is a function of what came before it, so a damaged one is not lost: the run goes back to the last round that is
whole and plays the others again, to the same rows and weights.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

from league.ledger.ledger import Ledger
from league.ledger.run_directory import RunError
from league.tasks.blobs import SUFFIX, BlobError, read_content, reservoir_of, write_blob


def mend(
    ledger: Ledger,
    blobs: Path,
    first: Mapping[str, bytes],
    round_name: Callable[[int], str] = lambda number: f"round {number + 1}",
    averaging: Collection[str] = (),
) -> str | None:
    """Take a run back to its last good state; what was wrong, ``None`` where nothing was.

    ``first``: the learners' weights before the first round, by blob. ``round_name``: of a round, as people count.
    ``averaging``: the learners that need the acts that their average is learned from.
    Raises :class:`RunError` where even what the run began with is damaged.
    """
    refuse_other_beginning(ledger)
    unsound = ledger.first_unsound()
    played = ledger.next_round
    sound = played if unsound is None else unsound
    damaged: dict[str, str] = {}
    while sound > 0 and not _whole(ledger, blobs, sound, first, damaged, averaging):
        sound -= 1
    for blob in damaged:  # made anew when its round is played again, under the same name
        (blobs / (blob + SUFFIX)).unlink(missing_ok=True)
    for content in first.values():
        write_blob(blobs, content)
    if sound == played:
        return f"{len(damaged)} damaged weights were made anew" if damaged else None
    ledger.roll_back(sound)
    why = [f"the rows of {round_name(unsound)} are not what was written"] if unsound is not None else []
    why += [f"weights {blob[:12]} are {state}" for blob, state in damaged.items()]
    start, end = round_name(sound), round_name(played - 1)
    rounds = f"{start} is" if start == end else f"{start} to {end} are"
    return f"{'; '.join(why)}. {rounds} played again, to the same results; the others are whole"


def refuse_other_beginning(ledger: Ledger) -> None:
    """Raise :class:`RunError` where what the run began with is not what was written: nothing of it can be trusted."""
    if not ledger.sound(-1):
        raise RunError(
            f"{ledger.path}: what the run began with (settings, members) is not what was written; its rounds cannot be "
            f"trusted. Start a new run with the same settings: it comes to the same rows and weights"
        )


def _whole(
    ledger: Ledger,
    blobs: Path,
    number: int,
    first: Mapping[str, bytes],
    damaged: dict[str, str],
    averaging: Collection[str],
) -> bool:
    """Whether the weights of all who take part in round ``number`` are there; those that are not go to ``damaged``."""
    states = ledger.states(number - 1)
    needed = {state.blob for state in states.values()}
    for name in sorted(averaging):
        with suppress(BlobError):  # found out below
            needed.add(reservoir_of(blobs, states[name].blob) or states[name].blob)
    needed |= {member.blob for member in ledger.members() if member.blob is not None and member.born <= number}
    for blob in sorted(needed):
        try:
            read_content(blobs, blob)
        except BlobError as error:
            damaged[blob] = "missing" if "cannot be read" in str(error) else "damaged"
    return not any(blob in damaged and blob not in first for blob in needed)
