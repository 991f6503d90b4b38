"""Playing to learn on a device: :func:`partners.learning.practice.practice` where games never leave it.

The same blocks, opponents and scenarios; only the noise is the device's own. What comes back to the host are counts,
and the turns of opponents who are neither tables nor networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from dond_marl.randomness import generator
from dond_marl.rollout import OccupantError
from dond_marl.seats import Partner, Whisper
from dond_marl.statistics import TEN, points_of_ten
from partners.device.inputs import Dealt, Deck, DeviceNoise, Uniforms
from partners.device.opponents import Opposite, Seated, hints_of
from partners.device.policy import LearningChoices
from partners.device.table import DeviceTable, Finished
from partners.learning.experience import Experience, joined
from partners.learning.practice import Opponent, Practice, Score, refuse_unreached
from partners.learning.rewards import Own, for_seat
from partners.mixture import in_seat, privileged_targets
from partners.network.network import PolicyNetwork

NoiseOf = Callable[[torch.device, int, tuple[int, ...], int], Uniforms]  # device, seed, index and games


class DevicePractice:
    """Where a network practices on one device; asked for the experience of one update after the other.

    ``noise``: where the uniforms of a block come from.
    """

    def __init__(self, plan: Practice, device: torch.device, noise: NoiseOf = DeviceNoise) -> None:
        self.plan, self.device, self._noise = plan, device, noise
        self._deck = Deck(plan.source, device)
        self._opposites: dict[int, Opposite] = {}

    def opposite(self, partner: Partner) -> Opposite:
        """Who ``partner`` is on the device. Raises :class:`dond_marl.rollout.OccupantError`."""
        found = self._opposites.get(id(partner))
        if found is None:
            plan = self.plan
            with _blaming(lambda: 1):  # the seat that it would have first
                found = Opposite(partner, self._deck, plan.rules, revealed=plan.reveal_partner_utilities)
            self._opposites[id(partner)] = found
        return found

    @property
    def bridged(self) -> int:
        """How many decisions have been asked for through the bridge."""
        return sum(opposite.bridge.decisions for opposite in self._opposites.values())

    def __call__(
        self,
        network: PolicyNetwork,
        opponents: Sequence[Opponent],
        *,
        update: int,
        games_before: int,
        hints: Whisper | None = None,
        decisions_per_game: float = 0.0,  # noqa: ARG002  # see below
    ) -> tuple[Experience, Score]:
        """The experience of one update, on the device; arguments and errors are those of the host's ``practice``.

        Blocks are played one after the other, so ``decisions_per_game`` is not used: here a block has many games.
        """
        plan, total = self.plan, _Total(self.device)
        met = [in_seat(opponent.partner, seat) for opponent in opponents for seat in (0, 1)]
        here = {id(partner): self.opposite(partner) for partner in met}
        self._opposites = here  # whoever is met no more is forgotten
        shares = np.array([opponent.share for opponent in opponents])
        parts: list[Experience] = []
        decisions = block = 0
        while decisions < plan.decisions:
            chosen = generator(plan.seed, "opponents", update, block).choice(len(opponents), p=shares / shares.sum())
            for seat, size in enumerate((plan.games - plan.games // 2, plan.games // 2)):
                if not size:
                    continue
                opposite = here[id(in_seat(opponents[chosen].partner, 1 - seat))]
                dealt = self._deck.deal(plan.seed, games_before + total.games, size)
                noise = self._noise(self.device, plan.seed, (update, block, seat), size)
                learner = LearningChoices(network)
                finished = self._played(learner, opposite, dealt, noise, seat, hints)
                earned = points(finished.scores, dealt.wholes)
                paid = self._paid(finished, earned, dealt, seat)
                part = learner.experience(
                    finished, paid / TEN, self._privileged_targets(network, opposite, dealt, noise, seat)
                )
                if part is not None:
                    parts.append(part)
                    decisions += part.size
                total.add(finished, earned[seat], paid)
                refuse_unreached(total.games, total.counted, plan)
            block += 1
        return joined(parts), total.score()

    def _played(
        self,
        learner: LearningChoices,
        opposite: Opposite,
        dealt: Dealt,
        noise: Uniforms,
        seat: int,
        hints: Whisper | None,
    ) -> Finished:
        """Every scenario once, the learner in ``seat``. Raises :class:`dond_marl.rollout.OccupantError`."""
        plan = self.plan
        table = DeviceTable(
            dealt.counts,
            dealt.utilities,
            plan.rules,
            prior=plan.source.prior,
            reveal_partner_utilities=plan.reveal_partner_utilities,
        )
        with _blaming(lambda: table.seat):
            other: Seated = opposite.seated(dealt, noise, 1 - seat)
            while table.open:
                seen = table.see()
                if table.seat != seat:
                    table.step(*other.say(seen, noise), legal=opposite.legal)
                    continue
                features = None if hints is None else hints_of(hints, seen, noise, table.partner_utilities())
                table.step(*learner.say(seen, noise, features), legal=True)
        return table.finished()

    def _paid(self, finished: Finished, earned: Tensor, dealt: Dealt, seat: int) -> Tensor:
        """What the learner is paid, ``[N]`` points of ten; a dial other than ``own`` is computed on the host."""
        if isinstance(self.plan.reward, Own):
            return earned[seat]
        scenarios = dealt.on_host()
        games = finished.games(scenarios)
        rewards = for_seat(self.plan.reward, seat)(games, points_of_ten(games.scores, scenarios.wholes), scenarios)
        return torch.from_numpy(np.ascontiguousarray(rewards[:, seat])).to(self.device)

    def _privileged_targets(
        self, network: PolicyNetwork, opposite: Opposite, dealt: Dealt, noise: Uniforms, seat: int
    ) -> Tensor | None:
        """Partner values and partner number of each game, ``[N, 4]``, as targets; None unless the plan wants them."""
        if not self.plan.privileged:
            return None
        utilities, drawn = dealt.utilities[:, 1 - seat].cpu().numpy(), noise.of_game(1 - seat).cpu().numpy()
        known = privileged_targets(opposite.partner, network.shape.members, utilities, drawn.T)
        return torch.from_numpy(known).to(self.device)


def points(scores: Tensor, wholes: Tensor) -> Tensor:
    """:func:`dond_marl.statistics.points_of_ten` on a device, ``[2, N]`` float64."""
    return scores * (TEN / wholes.clamp(min=1).double())


@contextmanager
def _blaming(seat: Callable[[], int]) -> Iterator[None]:
    """A context in which whatever is raised is the doing of whoever has ``seat()``."""
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError, KeyboardInterrupt):
        raise  # the machine's doing, or the user's, not the occupant's
    except BaseException as error:  # whatever an occupant may raise
        raise OccupantError(seat(), error) from error


class _Total:
    """What an update's games come to, summed on the device and read once."""

    def __init__(self, device: torch.device) -> None:
        self._sums = torch.zeros(4, dtype=torch.float64, device=device)  # points, deals, turns, pay
        self.games = self.counted = 0

    def add(self, finished: Finished, earned: Tensor, paid: Tensor) -> None:
        heard = finished.counted
        columns = torch.stack([earned, finished.deal.double(), finished.turns.double(), paid])
        self._sums += (columns if heard is None else columns * heard).sum(dim=1)
        self.games += len(earned)
        self.counted += len(earned) if heard is None else int(heard.sum())

    def score(self) -> Score:
        """Of the games that count."""
        return Score(self.games, *(self._sums / self.counted).tolist())
