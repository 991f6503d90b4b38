"""The published dialogues as games.

Most negotiations are in the files twice, once from each side; here each is one game, with the first speaker in
``seat_0``. The utterances are read by :mod:`dond_marl.dialogues.annotator`. People's refusals do not end their talks
and there was no turn limit, so the games have ``HUMAN_RULES``. A dialogue is an exact game if every utterance up to its
end was read as a legal act, and if replaying the acts leads to the split that people selected. Any other dialogue
becomes an inexact game with the reason; nothing is guessed.

The closing click is an act too: AGREE if the partner's last act was an offer and the person selected the items that it
leaves, otherwise END. No text of the dialogues is in the games.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dond_marl.dialogues.annotator import OWN_SIDE, ActReading, Utterance, annotate, utterances
from dond_marl.dialogues.human_line import selection
from dond_marl.game import Act, Action, IllegalAct, Rules, Scenario, State, Triple, apply, rest
from dond_marl.records.record import GameRecord, InexactGame, record_of
from dond_marl.scenarios.data import Dialogue, load_dialogues

HUMAN_RULES = Rules(max_turns=100, disagree="rejects")  # people had no limit: as many turns as the rules can count
PEOPLE = ("human", "human")
NO_DEAL, TWO_MINDS = "<no_agreement>", "<disagree>"  # the output tags of a talk without a deal; third: "<disconnect>"


class Negotiation(NamedTuple):
    """One negotiation between people."""

    scenario: Scenario
    talk: tuple[Utterance, ...]  # speakers are seats, 0 first, strictly alternating; the last is the closing click
    selected: Triple | None  # items of seat_0; None without a deal
    tag: str  # the published output of a dialogue without a deal; empty with one
    line: int  # of the file, from 1: the first of its two

    @property
    def cut_off(self) -> bool:
        """Whether a side was disconnected, so that the outcome is unknown."""
        return self.tag not in ("", NO_DEAL, TWO_MINDS)


def negotiations(split: str, data_dir: str | Path | None = None) -> tuple[Negotiation, ...]:
    """Every negotiation of ``train``, ``val`` or ``test``, once. Raises :class:`dond_marl.scenarios.data.DataError`."""
    unique: dict[tuple[Scenario, tuple[Utterance, ...]], Negotiation] = {}
    for line, row in enumerate(load_dialogues(split, data_dir), start=1):
        negotiation = _negotiation(row, line)
        unique.setdefault((negotiation.scenario, negotiation.talk), negotiation)
    return tuple(unique.values())


def acts(negotiation: Negotiation) -> tuple[ActReading, ...]:
    """Every utterance as an act, or as no act with the reason; the closing click by the items selected with it."""
    counts = negotiation.scenario.counts
    readings = annotate(negotiation.talk, counts)
    return (*readings[:-1], _closing(negotiation, readings))


def game_of(negotiation: Negotiation, source: str | None = None) -> GameRecord | InexactGame:
    """The dialogue as a game that replays exactly, or as an inexact game with the reason."""
    readings = acts(negotiation)
    state = State(negotiation.scenario, HUMAN_RULES)
    reason = ""
    for turn, reading in enumerate(readings, start=1):
        if state.is_over:
            confirms = reading.action is not None and reading.action.act_type in (Act.AGREE, Act.END)
            reason = "" if confirms else f"utterance {turn} goes on after the deal"
        elif reading.action is None:
            reason = f"utterance {turn} was not read: {reading.reason}"
        else:
            try:
                state = apply(state, reading.action)
            except IllegalAct as broken:
                reason = f"utterance {turn} is no legal act: {broken}"
        if reason:
            break
    share = negotiation.selected
    selected = None if share is None else (share, rest(negotiation.scenario.counts, share))
    if not reason and (state.outcome is None or state.outcome.allocation != selected):
        reason = "the acts lead to another outcome than people selected"
    if reason:
        actions = tuple(reading.action for reading in readings)
        return InexactGame(negotiation.scenario, PEOPLE, actions, selected, reason, source)
    return record_of(state, PEOPLE, source=source)


def games(split: str, data_dir: str | Path | None = None) -> Iterator[GameRecord | InexactGame]:
    """Every negotiation of a dialogue file as a game; ``source`` names its line. Raises as :func:`negotiations`."""
    for negotiation in negotiations(split, data_dir):
        yield game_of(negotiation, f"dialogues, {split}.txt line {negotiation.line}")


def _negotiation(row: Dialogue, line: int) -> Negotiation:
    talk = utterances(row)
    opener = talk[0].speaker
    counts: Triple = row.counts  # type: ignore[assignment]  # three, as the reader of the file has checked
    values = (row.my_values, row.partner_values)
    selected = selection(row)
    share = selected if selected is None or opener == OWN_SIDE else rest(counts, selected)
    scenario = Scenario(counts, (values[opener], values[1 - opener]))  # type: ignore[arg-type]  # as above
    seats = tuple(Utterance(int(speaker != opener), text) for speaker, text in talk)
    return Negotiation(scenario, seats, share, "" if selected is not None else row.output[0], line)


def _closing(negotiation: Negotiation, readings: tuple[ActReading, ...]) -> ActReading:
    click = readings[-1]
    before = readings[-2].action if len(readings) > 1 else None
    if negotiation.cut_off:
        return ActReading(None, "a side was disconnected")
    if before is None or not before.act_type.is_offer:
        return click
    if negotiation.tag == TWO_MINDS:
        return ActReading(None, "what was selected is not known")
    seat = negotiation.talk[-1].speaker
    counts, share = negotiation.scenario.counts, negotiation.selected
    selected = share if share is None or seat == 0 else rest(counts, share)
    return ActReading(Action(Act.AGREE)) if selected == rest(counts, before.oA) else click
