"""Episodes for a judge: descriptions in words, with both sides' values, and worked examples with their answers.

The judged seat is called Alice, whichever seat it was. A description is written from numbers and acts only, so that no
name and no player's text can reach the judge.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.game import ITEMS, Act, Ending, Triple, rest
from dond_marl.records.transcript import describe_items
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Bools
from partners.judges.styles import Style, count_offers, score_leads, shows_style
from partners.mixture import Mixture

JUDGED, OTHER = "Alice", "Bob"
_PLAYED = 1_000  # games from which worked episodes are chosen; more than fifty show each style
# Their players, which together repeat and vary offers, concede and hold firm.
_PLAYERS = ("boulware", "conceder", "heuristic", "naive_tit_for_tat", "pushover", "random", "stubborn", "versatile")


class LabelledGames(NamedTuple):
    """Games with a label for one seat."""

    games: Games
    seat: int
    labels: Bools  # [N] whether the seat shows the style


def worked_episodes(style: Style, number: int, seed: int = 0) -> LabelledGames:
    """``number`` (1..100) labelled games of seat_0 between scripted partners, on training scenarios: yes, no, ..."""
    games = scripted_games(seed, _PLAYED)
    labels = shows_style(style, games)[:, 0]
    yes, no = np.flatnonzero(labels), np.flatnonzero(~labels)
    chosen = [(yes, no)[i % 2][i // 2] for i in range(number)]
    return LabelledGames(games.rows(np.array(chosen, dtype=np.int64)), 0, labels[chosen])


@lru_cache(maxsize=8)
def scripted_games(seed: int, number: int) -> Games:
    """Games between scripted partners of many kinds, on training scenarios of ``lewis``."""
    source, crowd = open_source("lewis", split="train"), Mixture(of=_PLAYERS)
    return rollout((crowd, crowd), source.block(seed, 0, number), seed=seed, index=(1,))


def describe_games(games: Games, seat: int) -> list[str]:
    """Each game in words, ``[N]``, with ``seat`` as Alice."""
    names = (JUDGED, OTHER) if seat == 0 else (OTHER, JUDGED)
    counts, utilities = games.scenarios.counts.tolist(), games.scenarios.utilities.tolist()
    wholes, scores = games.scenarios.pool_values.tolist(), games.scores.tolist()
    acts, offers = games.act.tolist(), games.oA.tolist()
    texts = []
    for game in range(games.size):
        lines = [f"Pool: {describe_items(counts[game])}."]
        lines += [_values(names[side], utilities[game][side], wholes[game][side]) for side in (seat, 1 - seat)]
        for turn in range(int(games.turns[game])):
            lines.append(f"{names[turn % 2]}: {_act(acts[game][turn], offers[game][turn], counts[game])}")
        lines.append(_describe_outcome(games, game))
        lines += [
            f"{names[side]} earns {scores[game][side]} of {wholes[game][side]} points." for side in (seat, 1 - seat)
        ]
        texts.append("\n".join(lines))
    return texts


def explain_label(style: Style, games: Games, game: int, seat: int) -> str:
    """The answer to a worked episode, ``Yes, because ...``: why the game is in the style or not."""
    yes, deal = bool(shows_style(style, games)[game, seat]), bool(games.deal[game])
    answer = "Yes" if yes else "No"
    if style in (Style.COMPETITIVE, Style.PUSH_OVER):
        lead = int(score_leads(games)[game, seat])
        how = {1: "more than", 0: "exactly as much as", -1: "less than"}[lead]
        reason = f"{JUDGED} earns {how} {OTHER}"
        if not deal:
            reason = f"there is no agreement, so {JUDGED} and {OTHER} both earn 0"
        return f"{answer}, because {reason}."
    offers, different = (int(counts[game, seat]) for counts in count_offers(games))
    if offers < 2:
        reason = f"{JUDGED} makes {'only one offer' if offers else 'no offer'}"
    elif different < offers:
        reason = f"{JUDGED} offers the same split more than once"
    else:
        reason = f"{JUDGED} makes {offers} offers and never the same twice"
    return f"{answer}, because {reason}."


def _values(name: str, utilities: list[int], pool_value: int) -> str:
    values = ", ".join(f"{item} {value}" for item, value in zip(ITEMS, utilities, strict=True))
    return f"{name}'s values: {values} (everything: {pool_value} points)."


def _act(act: int, oA: Triple, counts: Triple) -> str:
    """An act in words; an offer with both sides' shares."""
    if act > Act.INSIST:
        return {Act.AGREE: "agree", Act.DISAGREE: "disagree", Act.END: "end the talk"}[Act(act)]
    claim = f"I keep {describe_items(oA)}; you get {describe_items(rest(counts, oA))}"
    return f"{'propose' if act == Act.PROPOSE else 'insist'}: {claim}"


def _describe_outcome(games: Games, game: int) -> str:
    if games.deal[game]:
        return "Outcome: agreement."
    how = {Ending.TURN_LIMIT: " (time is up)", Ending.ILLEGAL: " (a rule was broken)"}
    return f"Outcome: no agreement{how.get(Ending(int(games.ending[game])), '')}."
