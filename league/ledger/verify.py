"""Checks of a run against its ledger: rows by their seals, weights by their names, matches by replay.

A round is a function of the rounds before it, so a damaged one is not lost: the run goes back to the last intact round
and plays the others again, with the same rows and weights.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from dond_marl.batch import Games
from dond_marl.occupants import OccupantNameError, missing_needs
from dond_marl.rollout import OccupantError
from dond_marl.scenarios.data import DataError
from dond_marl.scenarios.sources import ScenarioError
from league.ledger.ledger import Ledger
from league.ledger.run_directory import RunError
from league.play.blobs import BlobError, read_content, reservoir_of, write_blob
from league.play.match import SEATING, facts_of, match_index, play_games
from league.play.values import Entrant, SeatOrderResult
from league.settings.read import Config
from partners.provenance import label


def legs_with_order(ledger: Ledger, number: int) -> Iterator[tuple[int, SeatOrderResult]]:
    """Every leg of a committed round with its seat order in the match, 0 or 1; without failed matches."""
    opens = {(first, second) for _, kind, first, second, *_ in ledger.meetings(number) if kind == "match"}
    for leg in ledger.legs(number):
        yield (0 if leg.seats in opens else 1), leg


def replay_leg(
    config: Config, ledger: Ledger, blobs: Path, number: int, order: int, leg: SeatOrderResult
) -> Games | str:
    """Replay the games of a leg and check them against its facts; returns the games, or the reason why it failed.

    Members that are expensive to query are not replayed, nor those that need more than the ledger allows.
    """
    members, before = {member.name: member for member in ledger.members()}, ledger.states(number - 1)
    try:
        players = []
        for name in leg.seats:
            blob = before[name].blob if name in before else members[name].blob
            spec = members[name].spec
            if spec is not None and (needs := missing_needs(spec, ledger.allow)):
                return f"cannot be replayed: {name} needs {', '.join(sorted(needs))}, and is used with --trust alone"
            if members[name].costly:
                return f"cannot be replayed: {name} would be queried"
            players.append(SEATING.partner(Entrant(members[name], blob), blobs))
        scenarios = ledger.scenarios(number)._replace(prior=SEATING.source(config.env).prior)
        index = match_index(number, leg.seats[::-1] if order else leg.seats, order)
        games = play_games((players[0], players[1]), scenarios, config.env, config.league.seed, index)
    except (BlobError, DataError, OccupantError, OccupantNameError, ScenarioError, OSError) as error:
        return f"cannot be replayed: {error}"
    if facts_of(games).tobytes() != leg.facts.tobytes():
        return "have other results when replayed on this machine"
    return games


def mend(
    ledger: Ledger,
    blobs: Path,
    first: Mapping[str, bytes],
    round_name: Callable[[int], str] = lambda number: f"round {number + 1}",
    averaging: Collection[str] = (),
) -> str | None:
    """Take a run back to its last intact round; returns a description of the damage, ``None`` if there was none.

    Damaged weights are written again when their round is replayed (:func:`~league.play.blobs.write_blob`).
    ``first``: the learners' weights before the first round, by blob. ``round_name``: the name of a round on screen.
    ``averaging``: the learners with a reservoir of actions, which their average policy is trained on.
    The start of the run is intact (:func:`refuse_damaged_start`).
    """
    damaged_round = ledger.first_damaged_round()
    played = ledger.next_round
    sound = played if damaged_round is None else damaged_round
    damaged: dict[str, str] = {}
    while sound > 0 and not _weights_intact(ledger, blobs, sound, first, damaged, averaging):
        sound -= 1
    for content in first.values():
        write_blob(blobs, content)
    if sound == played:
        return f"{len(damaged)} damaged weights were written again" if damaged else None
    ledger.roll_back(sound)
    reasons = [f"the rows of {round_name(damaged_round)} do not match their seal"] if damaged_round is not None else []
    reasons += [f"weights {blob[:12]} are {state}" for blob, state in damaged.items()]
    start, end = round_name(sound), round_name(played - 1)
    rounds = f"{start} is" if start == end else f"{start} to {end} are"
    return f"{'; '.join(reasons)}. {rounds} played again, with the same results; the others are intact"


def refuse_damaged_start(ledger: Ledger) -> None:
    """Raise :class:`RunError` if the start of the run does not match its seal: none of its rounds can be trusted."""
    if not ledger.is_sound(-1):
        raise RunError(
            f"{ledger.path}: its start (settings, members) does not match its seal; its rounds cannot be trusted. "
            f"Start a new run with the same settings: it produces the same rows and weights"
        )


def refuse_other_occupants(run: Path, started: Mapping[str, str], current: Mapping[str, str]) -> None:
    """Raise :class:`RunError` if a name means another occupant ``now``: a file or the environment has changed."""
    for name, other in current.items():
        if (before := started.get(name, other)) != other:
            raise RunError(
                f"{run}: {name} was {label(before, short=False)} at the start and is {label(other, short=False)} now; "
                "bring back the former file, prompt or environment (such as a service's key), or start a new run"
            )


def refuse_other_settings(run: Path, started: BaseModel, current: BaseModel) -> None:
    """Raise :class:`RunError` if a run would be resumed with other settings than it ``started`` with."""
    if changed := "\n  ".join(differences(started, current)):
        raise RunError(
            f"{run} was started with other settings:\n  {changed}\nresume it with its own (--resume {run} without "
            f"--config), or start a new run without --resume"
        )


def differences(earlier: BaseModel, later: BaseModel) -> list[str]:
    """The changes from ``earlier`` to ``later``, a line per key: ``env.max_turns: 10 -> 6``."""
    before, after = (dict(flat_settings(config.model_dump(mode="json"))) for config in (earlier, later))
    changed = {key: (before.get(key, "absent"), after.get(key, "absent")) for key in before | after}
    lines = [f"{key}: {first} -> {second}" for key, (first, second) in changed.items() if first != second]
    return lines or ["members, learners or stages in another order"] * (earlier != later)


def flat_settings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every value of a dumped config as text, by its dotted path: ``training.lr``; items of a list by their names."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        value = {
            item.get("name", i): {key: v for key, v in item.items() if key != "name"} for i, item in enumerate(value)
        }
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flat_settings(inner, f"{path}.{key}" if path else key)
    else:
        yield path, "none" if value is None else str(value)


def _weights_intact(
    ledger: Ledger,
    blobs: Path,
    number: int,
    first: Mapping[str, bytes],
    damaged: dict[str, str],
    averaging: Collection[str],
) -> bool:
    """Whether the weights of all members of round ``number`` are intact; the others are added to ``damaged``."""
    states = ledger.states(number - 1)
    needed = {state.blob for state in states.values()}
    for name in sorted(averaging):
        with suppress(BlobError):  # reported below
            needed.add(reservoir_of(blobs, states[name].blob) or states[name].blob)
    needed |= {member.blob for member in ledger.members() if member.blob is not None and member.born <= number}
    for blob in sorted(needed):
        try:
            read_content(blobs, blob)
        except BlobError as error:
            damaged[blob] = "missing" if "cannot be read" in str(error) else "damaged"
    return not any(blob in damaged and blob not in first for blob in needed)
