"""Examples: a prompt, and the line that was played in a game that paid well.

Each player meets each partner on training scenarios, in both seats; of the games with each partner in each seat the
share is kept that paid the player most, by any of the rewards of :mod:`partners.learning.rewards`, and its acts in them
are the examples (filtered behaviour cloning; for this game Liao, Tomlin, Klein 2024, arXiv 2406.18872, section 4.1). As
JSON lines they are what TRL's ``SFTTrainer`` takes: a ``prompt`` and a ``completion`` of chat messages.
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
from experiments.language_models.post_training.settings import GamesSection
from league.evaluation.matches import Witness
from partners.learning.rewards import reward_of
from partners.llm.prompt import SYSTEM, Template
from partners.llm.reply import Legal, legal_rows, reply_line

SPLIT = "train"


class Example(NamedTuple):
    """One act out of a game that was kept."""

    prompt: str
    action: Action
    legal: Legal
    player: str
    partner: str
    seat: int
    points: float  # of ten, the player's own at the end
    paid: float  # by the reward

    @property
    def reply(self) -> str:
        return reply_line(self.action, 1.0)


class Collected(NamedTuple):
    """The examples, and what they were chosen from."""

    examples: list[Example]
    games: int
    kept: int
    least: float  # what the worst of the kept games paid


def collect(games: GamesSection, reward: str, template: Template, seed: int) -> Collected:
    """Play, keep what paid most, and draw the examples: a function of the arguments."""
    pays, rules, source = reward_of(reward), Rules(games.max_turns), open_source("lewis", split=SPLIT)
    found: list[tuple[float, list[Example]]] = []
    of_kind: dict[tuple[str, int], list[int]] = {}  # the games with a partner in a seat
    for number, (name, other) in enumerate((one, two) for one in games.players for two in games.partners):
        partner = seat_occupant(other)
        table = source.block(seed, number, games.scenarios)
        for seat in (0, 1):
            witness = Witness(seat_occupant(name))
            pair = (witness, partner) if seat == 0 else (partner, witness)
            played = rollout(pair, table, rules, seed=seed, index=(number, seat), prior=source.prior)
            earned = points_of_ten(played.scores, table.pool_values)
            paid = pays(played, earned, table)[:, seat]
            acts: list[list[Example]] = [[] for _ in range(table.size)]
            for turns, said in zip(witness.turns, witness.said, strict=True):
                rows = np.flatnonzero(played.turns > turns.turns_taken).tolist()
                texts, legal = template.render(turns), legal_rows(turns)
                for place, row in enumerate(rows):
                    act, (a, b, c) = Act(int(said.act_type[place])), said.oA[place].tolist()
                    action = Action(act, (a, b, c)) if act.is_offer else Action(act)
                    own, pay = float(earned[row, seat]), float(paid[row])
                    who = spec_name(name), spec_name(other), seat
                    acts[row].append(Example(texts[place], action, legal[place], *who, own, pay))
            of_kind.setdefault((other, seat), []).extend(range(len(found), len(found) + table.size))
            found += zip(paid.tolist(), acts, strict=True)
    best: list[int] = []
    for kind, played_so in enumerate(of_kind.values()):  # or those with the softest partner would be most of them
        order = generator(seed, "kept games", kind).permutation(played_so)  # who was paid alike is kept by chance
        ranked = sorted(order.tolist(), key=lambda game: -found[game][0])
        best += ranked[: max(1, round(games.keep * len(ranked)))]
    examples = [example for game in best for example in found[game][1]]
    chosen = generator(seed, "examples").permutation(len(examples))[: games.examples]
    return Collected(
        [examples[place] for place in chosen.tolist()], len(found), len(best), min(found[game][0] for game in best)
    )


def write_examples(path: Path, examples: Sequence[Example]) -> None:
    """As JSON lines for TRL and others that take chats."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(f"{json.dumps(row)}\n" for row in _chats(examples)))


def read_examples(path: Path) -> list[Example]:
    """What :func:`write_examples` wrote. Raises :class:`InputError`."""
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
        raise InputError(f"{path} holds no examples ({error}): remove it, and they are made anew") from None


def _chats(examples: Sequence[Example]) -> Iterator[dict[str, object]]:
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
