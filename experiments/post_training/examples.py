"""Training examples: a prompt, and the line played in a game with a high reward.

Each player plays each partner on training scenarios, in both seats. Of the games with each partner in each seat, the
share with the highest reward (:mod:`partners.learning.rewards`) is selected, and the player's acts in them are the
examples (filtered behaviour cloning; for this game Liao, Tomlin, Klein 2024, arXiv 2406.18872, section 4.1). The JSON
lines fit TRL's ``SFTTrainer``: a ``prompt`` and a ``completion`` of chat messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import Act, Action, Rules
from dond_marl.occupants import seat_occupant, spec_name
from dond_marl.randomness import generator
from dond_marl.records.files import write_atomically
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.statistics import points_of_ten
from experiments.post_training.settings import GamesSection
from league.evaluation.matches import Witness
from partners.learning.rewards import reward_of
from partners.llm.prompt import SYSTEM, Template
from partners.llm.reply import Legal, legal_rows, reply_line

SPLIT = "train"


class Example(NamedTuple):
    """One act of a selected game."""

    prompt: str
    action: Action
    legal: Legal
    player: str
    partner: str
    seat: int
    points: float  # of ten, the player's own at the end of the game
    paid: float  # the reward

    @property
    def reply(self) -> str:
        """The line of the act."""
        return reply_line(self.action, 1.0)


class CollectedExamples(NamedTuple):
    """The examples, and the games they were selected from."""

    examples: list[Example]
    games: int
    selected: int  # games
    least: float  # lowest reward among them


def collect_examples(games: GamesSection, reward: str, template: Template, seed: int) -> CollectedExamples:
    """Play, select the games with the highest rewards, and draw the examples: a function of the arguments."""
    pays, rules, source = reward_of(reward), Rules(games.max_turns), open_source("lewis", split=SPLIT)
    found: list[tuple[float, list[Example]]] = []
    of_kind: dict[tuple[str, int], list[int]] = {}  # games by partner and seat
    for number, (name, other) in enumerate((player, partner) for player in games.players for partner in games.partners):
        partner = seat_occupant(other)
        table = source.block(seed, number, games.scenarios)
        for seat in (0, 1):
            witness = Witness(seat_occupant(name))
            pair = (witness, partner) if seat == 0 else (partner, witness)
            played = rollout(pair, table, rules, seed=seed, index=(number, seat), prior=source.prior)
            earned = points_of_ten(played.scores, table.pool_values)
            paid = pays(played, earned, table)[:, seat]
            acts: list[list[Example]] = [[] for _ in range(table.size)]
            for turns, decisions in zip(witness.turns, witness.decisions, strict=True):
                rows = np.flatnonzero(played.turns > turns.turns_taken).tolist()
                texts, legal = template.render(turns), legal_rows(turns)
                for place, row in enumerate(rows):
                    act, (a, b, c) = Act(int(decisions.act_type[place])), decisions.oA[place].tolist()
                    action = Action(act, (a, b, c)) if act.is_offer else Action(act)
                    own, pay = float(earned[row, seat]), float(paid[row])
                    players = spec_name(name), spec_name(other), seat
                    acts[row].append(Example(texts[place], action, legal[place], *players, own, pay))
            of_kind.setdefault((other, seat), []).extend(range(len(found), len(found) + table.size))
            found += zip(paid.tolist(), acts, strict=True)
    best: list[int] = []
    for kind, played_so in enumerate(of_kind.values()):  # by partner, as the softest one would fill the selection
        order = generator(seed, "kept games", kind).permutation(played_so)  # ties are broken at random
        ranked = sorted(order.tolist(), key=lambda game: -found[game][0])
        best += ranked[: max(1, round(games.keep * len(ranked)))]
    examples = [example for game in best for example in found[game][1]]
    chosen = generator(seed, "examples").permutation(len(examples))[: games.examples]
    return CollectedExamples(
        [examples[place] for place in chosen.tolist()], len(found), len(best), min(found[game][0] for game in best)
    )


def write_examples(path: Path, examples: Sequence[Example]) -> None:
    """Write JSON lines of chats."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(f"{json.dumps(row)}\n" for row in _chat_rows(examples)))


def read_examples(path: Path) -> list[Example]:
    """The inverse of :func:`write_examples`. Raises :class:`InputError`."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [
            Example(
                row["prompt"][-1]["content"], Action(Act(row["act_type"]), tuple(row["oA"])),
                Legal(tuple(row["counts"]), tuple(row["open"])), row["player"], row["partner"], row["seat"],
                row["points"], row["paid"],
            )
            for row in rows
        ]  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"{path} holds no examples ({error}): remove it to make them again") from None


def _chat_rows(examples: Sequence[Example]) -> Iterator[dict[str, object]]:
    for each in examples:
        yield {
            "prompt": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": each.prompt}],
            "completion": [{"role": "assistant", "content": each.reply}],
            "act_type": int(each.action.act_type),
            "oA": list(each.action.oA),
            "counts": list(each.legal.counts),
            "open": list(each.legal.acts),
            "player": each.player,
            "partner": each.partner,
            "seat": each.seat,
            "points": each.points,
            "paid": each.paid,
        }
