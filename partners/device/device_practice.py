"""Practice on a device: :func:`partners.learning.practice.practice` with games that never leave it.

The same blocks, opponents and scenarios; only the noise is the device's own. Counts come back to the host, and the
turns of opponents that play there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from dond_marl.errors import blame
from dond_marl.rollout import OccupantError
from dond_marl.seats import HintSource, Partner
from dond_marl.statistics import TEN, points_of_ten
from partners.device.inputs import DealtScenarios, DeviceNoise, ScenarioDeck, Uniforms
from partners.device.opponents import DeviceOpponent, SeatedOpponent, hint_features
from partners.device.policy import DeviceLearner
from partners.device.table import DeviceGames, DeviceTable
from partners.learning.experience import Experience, join_experience
from partners.learning.practice import BlockDraws, Opponent, Practice, Score, refuse_unreached
from partners.learning.rewards import Own, pay
from partners.mixture import in_seat, privileged_targets, reads_labels
from partners.network.network import PolicyNetwork

NoiseOf = Callable[[torch.device, int, tuple[int, ...], int], Uniforms]  # device, seed, index and games


class DevicePractice:
    """The practice of a network on one device, called once per update; ``noise`` makes the uniforms of a block."""

    def __init__(self, plan: Practice, device: torch.device, noise: NoiseOf = DeviceNoise) -> None:
        self.plan, self.device, self._noise = plan, device, noise
        self._deck = ScenarioDeck(plan.source, device)
        self._opponents: dict[int, DeviceOpponent] = {}

    def opponent(self, partner: Partner) -> DeviceOpponent:
        """``partner`` prepared for the device, cached. Raises :class:`dond_marl.rollout.OccupantError`."""
        if id(partner) not in self._opponents:
            revealed = self.plan.reveal_partner_utilities
            with blame(
                lambda error: OccupantError(1, error), torch.OutOfMemoryError
            ):  # the seat that it would have first
                self._opponents[id(partner)] = DeviceOpponent(partner, self._deck, self.plan.rules, revealed=revealed)
        return self._opponents[id(partner)]

    @property
    def host_decisions(self) -> int:
        """The number of decisions made by partners on the host."""
        return sum(opponent.host.decisions for opponent in self._opponents.values())

    def __call__(
        self,
        network: PolicyNetwork,
        opponents: Sequence[Opponent],
        *,
        update: int,
        games_before: int,
        hints: HintSource | None = None,
        decisions_per_game: float = 0.0,  # noqa: ARG002  # see below
    ) -> tuple[Experience, Score]:
        """The experience of one update, on the device; arguments and errors are those of the host's ``practice``.

        Blocks are played one after the other, so ``decisions_per_game`` is not used: here a block has many games.
        """
        plan, total, draws = self.plan, _DeviceTotals(self.device), BlockDraws(opponents, self.plan, update)
        partners = [in_seat(opponent.partner, seat) for opponent in opponents for seat in (0, 1)]
        self._opponents = {id(partner): self.opponent(partner) for partner in partners}  # drops past opponents
        parts: list[Experience] = []
        decisions = block = 0
        while decisions < plan.decisions:
            partner = draws.partner(block)
            for seat, size in enumerate((plan.games - plan.games // 2, plan.games // 2)):
                if not size:
                    continue
                opponent = self.opponent(in_seat(partner, 1 - seat))
                dealt = self._deck.deal(plan.seed, games_before + total.games, size)
                noise = self._noise(self.device, plan.seed, (update, block, seat), size)
                learner = DeviceLearner(network)
                games = self._play(learner, opponent, dealt, noise, seat, hints)
                earned = points(games.scores, dealt.pool_values)
                paid = self._rewards(games, earned, dealt, seat)
                part = learner.experience(
                    games,
                    paid / TEN,
                    self._privileged_targets(network, opponent, dealt, noise, seat),
                    self._unread_labels(opponent, noise, seat),
                )
                if part is not None:
                    parts.append(part)
                    decisions += part.size
                total.add(games, earned[seat], paid)
                refuse_unreached(total.games, total.valid, plan)
            block += 1
        return join_experience(parts), total.score()

    def _play(
        self,
        learner: DeviceLearner,
        opponent: DeviceOpponent,
        dealt: DealtScenarios,
        noise: Uniforms,
        seat: int,
        hints: HintSource | None,
    ) -> DeviceGames:
        """Play every scenario once, the learner in ``seat``. Raises :class:`dond_marl.rollout.OccupantError`."""
        plan = self.plan
        table = DeviceTable(
            dealt.counts,
            dealt.utilities,
            plan.rules,
            prior=plan.source.prior,
            reveal_partner_utilities=plan.reveal_partner_utilities,
        )
        with blame(lambda error: OccupantError(table.seat, error), torch.OutOfMemoryError):
            other: SeatedOpponent = opponent.in_seat(dealt, noise, 1 - seat)
            while table.open:
                turns = table.turns()
                if table.seat != seat:
                    table.step(*other.act(turns, noise), legal=opponent.legal)
                    continue
                features = None if hints is None else hint_features(hints, turns, noise, table.partner_utilities())
                table.step(*learner.act(turns, noise, features), legal=True)
        return table.finished_games()

    def _rewards(self, games: DeviceGames, earned: Tensor, dealt: DealtScenarios, seat: int) -> Tensor:
        """The learner's rewards, ``[N]`` points of ten; rewards other than ``own`` are computed on the host."""
        if isinstance(self.plan.reward, Own):
            return earned[seat]
        scenarios = dealt.on_host()
        on_host = games.games(scenarios)
        earned_by_both = points_of_ten(on_host.scores, scenarios.pool_values)
        rewards = pay(self.plan.reward, seat, on_host, earned_by_both)
        return torch.from_numpy(np.ascontiguousarray(rewards[:, seat])).to(self.device)

    def _privileged_targets(
        self, network: PolicyNetwork, opponent: DeviceOpponent, dealt: DealtScenarios, noise: Uniforms, seat: int
    ) -> Tensor | None:
        """Partner values and partner number of each game, ``[N, 4]``, as targets; None unless the plan wants them."""
        if not self.plan.privileged:
            return None
        utilities, drawn = dealt.utilities[:, 1 - seat].cpu().numpy(), noise.game_noise(1 - seat).cpu().numpy()
        targets = privileged_targets(opponent.partner, network.shape.members, utilities, drawn.T)
        return torch.from_numpy(targets).to(self.device)

    def _unread_labels(self, opponent: DeviceOpponent, noise: Uniforms, seat: int) -> Tensor | None:
        """The games whose partner reads no labels, ``[N]``; None where labels are learned in all games."""
        if self.plan.labels_from == "all":
            return None
        unread = ~reads_labels(opponent.partner, noise.game_noise(1 - seat).cpu().numpy().T)
        return torch.from_numpy(unread).to(self.device)


def points(scores: Tensor, wholes: Tensor) -> Tensor:
    """:func:`dond_marl.statistics.points_of_ten` on a device, ``[2, N]`` float64."""
    return scores * (TEN / wholes.clamp(min=1).double())


class _DeviceTotals:
    """Sums over an update's games, added up on the device and read back once."""

    def __init__(self, device: torch.device) -> None:
        self._sums = torch.zeros(4, dtype=torch.float64, device=device)  # points, deals, turns, pay
        self.games = self.valid = 0

    def add(self, games: DeviceGames, earned: Tensor, paid: Tensor) -> None:
        valid = games.valid
        columns = torch.stack([earned, games.deal.double(), games.turns.double(), paid])
        self._sums += (columns if valid is None else columns * valid).sum(dim=1)
        self.games += len(earned)
        self.valid += len(earned) if valid is None else int(valid.sum())

    def score(self) -> Score:
        return Score(self.games, *(self._sums / self.valid).tolist())
