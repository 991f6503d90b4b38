"""PPO and REINFORCE: each improves one network from the experience of complete games.

A learner's whole state is :meth:`Learner.state`; its random numbers are a function of (seed, update). Saved and
restored at any update, it goes on to the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from dond_marl.game import ITEMS
from dond_marl.randomness import generator
from dond_marl.statistics import TEN
from dond_marl.yardsticks.recognition import LEVELS
from partners.learning.adam import Adam, moments, set_moments
from partners.learning.average_policy import AveragePolicy
from partners.learning.experience import Experience
from partners.learning.settings import LearnerSettings
from partners.network.checkpoint import NETWORK, part_of
from partners.network.layers import Linear, Tanh
from partners.network.network import PolicyNetwork, first_weights, with_weights

ADAM_EPSILON = 1e-5  # Engstrom et al. 2020 (arXiv 2005.12729): PPO implementations use it instead of 1e-8
ROUNDING = 1e-5  # share of a whole: advantages that spread less are rounding, and must not be scaled up to a full step
REFERENCE, CRITIC, MOMENTS = "reference.", "critic.", "optimizer."  # before the names of their tensors
RESPONDER = "responder."  # before the names of its own tensors, where the network that plays for it is an average


class Learner:
    """One network, its optimizer and its progress; with ``settings.kl`` also the reference that it is pulled toward.

    ``average``: the policy that imitates all that the network has done, where that is the result and not the network.
    """

    def __init__(
        self,
        network: PolicyNetwork,
        settings: LearnerSettings,
        seed: int,
        reference: PolicyNetwork | None = None,
        average: AveragePolicy | None = None,
    ) -> None:
        self.network, self.settings, self.seed = network, settings, seed
        self.reference = reference if settings.kl else None
        self.average = average
        self.critic = Critic(network, seed).to(network.device) if settings.critic == "both" else None
        self.updates = self.decisions = 0
        self.optimizer = Adam(self._parameters(), lr=settings.lr, eps=ADAM_EPSILON, fused=True)

    def update(self, experience: Experience) -> dict[str, float]:
        """Improve the network once; metrics are means over the decisions."""
        if not experience.size:
            return {}
        experience = experience.to(self.network.device)
        left = self._share_left()
        self.optimizer.param_groups[0]["lr"] = self.settings.lr * left
        self.network.train()
        step = self._ppo if self.settings.algo == "ppo" else self._reinforce
        metrics = step(experience, self.settings.ent * left)
        self.network.eval()
        if self.reference is not None and self.settings.magnet:
            follow(self.reference, self.network, self.settings.magnet)
        if self.average is not None:
            metrics["average_loss"] = self.average.learn(experience, self.updates, self.decisions)
        self.updates += 1
        self.decisions += experience.size
        return metrics

    def state(self) -> tuple[dict[str, Tensor], dict[str, int]]:
        """Everything that the next update depends on: tensors by name, and counters."""
        own = NETWORK if self.average is None else RESPONDER
        tensors = {f"{own}{name}": value for name, value in self.network.state_dict().items()}
        if self.average is not None:
            tensors |= self.average.state()
        if self.critic is not None:
            tensors |= {f"{CRITIC}{name}": value for name, value in self.critic.state_dict().items()}
        tensors |= moments(self.optimizer, self._parameters(), MOMENTS)
        if self.reference is not None:
            tensors |= {f"{REFERENCE}{name}": value for name, value in self.reference.state_dict().items()}
        return tensors, {"updates": self.updates, "decisions": self.decisions}

    def restore(self, tensors: dict[str, Tensor], counters: dict[str, int]) -> None:
        self.network.load_state_dict(part_of(tensors, NETWORK if self.average is None else RESPONDER))
        if self.average is not None:
            self.average.restore(tensors)
        if self.critic is not None:
            self.critic.load_state_dict(part_of(tensors, CRITIC))
        set_moments(self.optimizer, self._parameters(), part_of(tensors, MOMENTS))
        pull = part_of(tensors, REFERENCE)
        if pull and self.settings.kl:
            self.reference = with_weights(self.network.shape, pull, self.network.device)
        self.updates, self.decisions = counters["updates"], counters["decisions"]

    def _parameters(self) -> list[torch.nn.Parameter]:
        """All that is improved: the network's, then those of a critic that no seat has."""
        return [*self.network.parameters(), *([] if self.critic is None else self.critic.parameters())]

    def _share_left(self) -> float:
        if not self.settings.anneal:
            return 1.0
        return max(1.0 - self.decisions / max(self.settings.total_decisions, 1), 0.0)

    def _ppo(self, experience: Experience, entropy_weight: float) -> dict[str, float]:
        """Schulman et al. 2017 (arXiv 1707.06347), algorithm 1."""
        settings, network = self.settings, self.network
        read, told = network.read(experience.features), self._told(experience)
        worth = experience.value if self.critic is None else self._worth_of(read, told[0])
        advantage, returns = generalized_advantages(
            experience.reward, experience.dense(worth), experience.played, settings.gamma, settings.lam
        )
        place = experience.place
        advantages, targets = standardized(advantage.view(-1)[place]), returns.view(-1)[place]
        seen = experience
        lost = self._lost(experience)
        if lost:  # what is known exactly is not learned from luck
            advantages = advantages * lost[0][:, -1].isnan()
        columns = (read, seen.mask, seen.act, seen.oA, seen.log_prob, advantages, targets)
        pull = self._reference_logits(read)
        totals = torch.zeros(7, device=self.network.device)
        every = (*columns, *lost, *pull, *told)
        for read, mask, act, oA, old_log_prob, weight, target, *more in self._minibatches(every):
            loses, toward, truth = more[: len(lost)], more[len(lost) :][: len(pull)], more[len(lost) + len(pull) :]
            hidden = network.hidden(read)
            logits, value = network.spoken(hidden, read)
            if self.critic is not None:
                value = self.critic(hidden, network.in_own_order(truth[0][:, :3].t(), read))
            said = network.said(logits, mask, read)
            taken = said.taken(act, oA)
            log_prob = taken.log_prob
            surrogate = clipped_surrogate(log_prob, old_log_prob, weight, settings.clip)
            error, entropy = value_loss(value, target), taken.entropy.mean()
            loss = surrogate + settings.vf * error
            away = error.new_zeros(())
            if toward:
                away = said.divergence(network.said(toward[0], mask, read)).mean()
                loss = loss + settings.kl * away
            surprise = self._surprise(hidden, read, *truth)
            if settings.belief:
                loss = loss + settings.belief * surprise
            taught = error.new_zeros(())
            if loses:
                taught = taught_loss(said.numbered(network.shape.max_count), loses[0]).mean()
                loss = loss + settings.exact_reply * taught
            self._descend(loss - entropy_weight * entropy if entropy_weight else loss, settings.grad_norm)
            with torch.no_grad():
                drift = (old_log_prob - log_prob).mean()
                totals += len(act) * torch.stack([surrogate, error, entropy, drift, away, surprise, taught])
        means = (totals / (experience.size * settings.epochs)).tolist()
        names = ("policy_loss", "value_loss", "entropy", "kl", "reference_kl", "belief_loss", "taught_loss")
        there = {"reference_kl": bool(pull), "belief_loss": settings.belief > 0, "taught_loss": bool(lost)}
        return {name: mean for name, mean in zip(names, means, strict=True) if there.get(name, True)}

    def _reinforce(self, experience: Experience, entropy_weight: float) -> dict[str, float]:
        """Williams 1992; the baseline is the mean return of the seat, so that the seats' advantages do not mix."""
        returns = discounted_returns(experience.reward, experience.played, self.settings.gamma)
        seat = experience.seat.repeat(len(experience.reward))[experience.place]
        weight = returns.view(-1)[experience.place]
        for number in (0, 1):
            weight = torch.where(seat == number, weight - weight[seat == number].mean().nan_to_num(), weight)
        weight = weight / (weight.square().mean().sqrt() + ROUNDING)
        network, mask, read = self.network, experience.mask, self.network.read(experience.features)
        hidden = network.hidden(read)
        said = network.said(network.spoken(hidden, read)[0], mask, read)
        taken = said.taken(experience.act, experience.oA)
        loss, entropy = policy_gradient(taken.log_prob, weight), taken.entropy.mean()
        metrics = {"policy_loss": float(loss.detach()), "entropy": float(entropy.detach())}
        loss = loss - entropy_weight * entropy
        for toward in self._reference_logits(read):
            away = said.divergence(network.said(toward, mask, read)).mean()
            metrics["reference_kl"] = float(away.detach())
            loss = loss + self.settings.kl * away
        if self.settings.belief:
            surprise = self._surprise(hidden, read, *self._told(experience))
            metrics["belief_loss"] = float(surprise.detach())
            loss = loss + self.settings.belief * surprise
        self._descend(loss, None)
        return metrics

    def _told(self, experience: Experience) -> tuple[Tensor, ...]:
        """What learning alone is told, ``[M, 4]``, and the exact belief where there is one; none where none learns."""
        if self.critic is None and not self.settings.belief:
            return ()
        if experience.told is None:
            raise ValueError(
                "beliefs and a critic of both values are taught by what an experience was told; it was not"
            )
        known = () if experience.posterior is None or not self.settings.belief else (experience.posterior,)
        return (experience.told, *known)

    def _lost(self, experience: Experience) -> tuple[Tensor, ...]:
        """What every act loses, one ``[M, A]``; none where nothing learns by it."""
        if not self.settings.exact_reply:
            return ()
        if experience.lost is None:
            raise ValueError(
                "a network is taught by what its acts lose to the best reply; this experience was not told"
            )
        return (experience.lost,)

    @torch.no_grad()
    def _worth_of(self, read: Tensor, told: Tensor) -> Tensor:
        """What a critic that sees both values thinks of every decision, ``[M]``."""
        assert self.critic is not None
        worth: Tensor = self.critic(self.network.hidden(read), self.network.in_own_order(told[:, :3].t(), read))
        return worth

    def _surprise(self, hidden: Tensor, read: Tensor, *told: Tensor) -> Tensor:
        """How much the network's beliefs are surprised; zero where it learns none."""
        if not self.settings.belief:
            return hidden.new_zeros(())
        return belief_loss(*self.network.believed(hidden, read), *told)

    @torch.no_grad()
    def _reference_logits(self, read: Tensor) -> tuple[Tensor, ...]:
        """What the reference would have said, one tensor of M rows: asked once an update; none without a pull."""
        if not self.settings.kl:
            return ()
        if self.reference is None:
            raise ValueError("a pull (kl) goes toward a reference policy; this learner was given none")
        return (self.reference.answer(read)[0],)

    def _minibatches(self, columns: Sequence[Tensor]) -> Iterator[tuple[Tensor, ...]]:
        """Every row once per epoch, in an order of the epoch's own."""
        columns = [column.contiguous() for column in columns]
        for epoch in range(self.settings.epochs):
            order = generator(self.seed, "minibatches", self.updates, epoch).permutation(len(columns[0]))
            rows = torch.from_numpy(order).to(self.network.device)
            shuffled = [column.index_select(0, rows) for column in columns]  # at once: minibatches are then slices
            yield from zip(*(torch.split(column, self.settings.minibatch) for column in shuffled), strict=True)

    def _descend(self, loss: Tensor, grad_norm: float | None) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]  # PyTorch's own
        if grad_norm is not None:
            torch.nn.utils.clip_grad_norm_(self._parameters(), grad_norm)
        self.optimizer.step()


def standardized(values: Tensor) -> Tensor:
    """Zero mean and unit spread over the whole batch."""
    return (values - values.mean()) / (values.std(correction=0) + ROUNDING)


@torch.no_grad()
def follow(magnet: PolicyNetwork, network: PolicyNetwork, share: float) -> None:
    """Move ``magnet`` toward ``network`` by ``share`` (0..1) of the way, weight by weight."""
    for own, new in zip(magnet.parameters(), network.parameters(), strict=True):
        own.lerp_(new, share)


HIDDEN = 64


class Critic(nn.Module):
    """What decisions are worth, ``[B]`` as a share of the whole, by what a network's trunk knows and both values."""

    def __init__(self, network: PolicyNetwork, seed: int) -> None:
        super().__init__()
        self.inner = Linear(network.head.in_features + len(ITEMS) * LEVELS, HIDDEN)
        self.tanh = Tanh()
        self.outer = nn.Linear(HIDDEN, 1)
        # Numbers of layers that no network has, so that none of its weights is drawn alike.
        first_weights(self.inner, math.sqrt(2), seed, 1000)
        first_weights(self.outer, 0.01, seed, 1001)

    def forward(self, hidden: Tensor, values: Tensor) -> Tensor:
        """``hidden[B, H]`` of the trunk, ``values[3, B]`` of the partner in the network's own order of items."""
        shown = torch.nn.functional.one_hot(values.t(), LEVELS).flatten(1).to(hidden.dtype)
        worth: Tensor = self.outer(self.tanh(self.inner(torch.cat([hidden, shown], dim=1))))
        return worth.squeeze(1)


SOFT = 0.15  # points of ten: an act that loses so much is wanted e times less than one that loses nothing
LEAST = -30.0  # nats: what is less probable than that is wanted no more for it


def generalized_advantages(
    reward: Tensor, value: Tensor, played: Tensor, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """Advantages and returns of complete games (Schulman et al. 2016, arXiv 1506.02438, equation 16).

    ``reward[T, N]``, ``value[T, N]``, ``played[T, N]`` bool: a game's own decisions come first, without gaps; its last
    one is followed by nothing, so nothing is bootstrapped. Zeros where nothing was played.
    """
    assert reward.ndim == 2 and reward.shape == value.shape == played.shape, (reward.shape, value.shape, played.shape)
    advantage = torch.zeros_like(value)
    next_value = next_advantage = torch.zeros_like(value[0])
    for t in reversed(range(len(reward))):
        delta = reward[t] + gamma * next_value - value[t]
        advantage[t] = torch.where(played[t], delta + gamma * lam * next_advantage, 0.0)
        next_value, next_advantage = torch.where(played[t], value[t], 0.0), advantage[t]
    return advantage, torch.where(played, advantage + value, 0.0)


def discounted_returns(reward: Tensor, played: Tensor, gamma: float) -> Tensor:
    """What follows each own decision: the sum of ``gamma**k`` times the reward k decisions later, ``[T, N]``."""
    assert reward.ndim == 2 and reward.shape == played.shape, (reward.shape, played.shape)
    returns, following = torch.zeros_like(reward), torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        following = torch.where(played[t], reward[t] + gamma * following, 0.0)
        returns[t] = following
    return returns


def clipped_surrogate(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """PPO's policy loss, to be minimized; inputs ``[B]`` (Schulman et al. 2017, arXiv 1707.06347, equation 7)."""
    assert log_prob.ndim == 1 and log_prob.shape == old_log_prob.shape == advantage.shape
    ratio = (log_prob - old_log_prob).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()


def value_loss(value: Tensor, returns: Tensor) -> Tensor:
    """Half the mean squared error, a scalar (Schulman et al. 2017, equation 9); inputs ``[B]``."""
    assert value.ndim == 1 and value.shape == returns.shape
    return 0.5 * (value - returns).square().mean()


def belief_loss(values: Tensor, who: Tensor, told: Tensor, posterior: Tensor | None = None) -> Tensor:
    """How much beliefs are surprised by what is true, in nats per decision, a scalar.

    ``values[3, 11, B]`` and ``who[M, B]``: logits; ``told[B, 4]`` int64: the partner's values, and its number among the
    members, of which nothing is learned where it is below 0. The logarithmic score is proper: nothing but the truth's
    own probabilities minimizes it (Gneiting and Raftery 2007, section 4.1). Predicting the other agent from one's own
    history as a second task: Papoudakis, Christianos, Albrecht 2021 (arXiv 2006.09447).

    ``posterior[B, 33 + M]``: the exact belief, NaN where it is not known. Where it is, the surprise is the mean over
    all that it holds possible instead of what happened to be true: the same on average, without the luck of the draw.
    """
    assert values.shape[::2] == (3, len(told)) and who.shape[1] == len(told) == told.numel() // 4, told.shape
    if posterior is None:
        return _surprise(values, who, told) / len(told)
    assert posterior.shape == (len(told), 3 * values.shape[1] + len(who)), posterior.shape
    known = ~posterior[:, 0].isnan()
    unknown = (~known).nonzero().flatten()
    log_probs = torch.cat([torch.log_softmax(values, dim=1).flatten(0, 1), torch.log_softmax(who, dim=0)]).t()
    expected = -(torch.where(known[:, None], posterior, 0.0) * log_probs).sum()
    return (expected + _surprise(values[:, :, unknown], who[:, unknown], told[unknown])) / len(told)


def _surprise(values: Tensor, who: Tensor, told: Tensor) -> Tensor:
    """The surprise of B decisions together at what is true of each."""
    log_probs = torch.log_softmax(values, dim=1).gather(1, told[:, :3].t()[:, None])
    total = -log_probs.sum()
    if len(who):
        known = told[:, 3] >= 0
        named = torch.log_softmax(who, dim=0).gather(0, told[:, 3].clamp(min=0)[None]).squeeze(0)
        total = total - (named * known).sum()
    return total


def taught_loss(log_probs: Tensor, lost: Tensor) -> Tensor:
    """How far a policy is from acts that lose nothing, ``[B]``; zero where it is not known what acts lose.

    ``log_probs[A, B]`` of every act; ``lost[B, A]``: what each loses, share of the whole, infinite for what cannot be
    said, NaN where nothing is known. Half of it is what the policy loses in expectation, in points of ten (Ross and
    Bagnell 2014, arXiv 1406.5979), half the surprise in nats at acts drawn by ``exp(-points / SOFT)``: the first alone
    hardly moves a policy that is sure of a wrong act.
    """
    assert log_probs.shape == lost.t().shape, (log_probs.shape, lost.shape)
    lost = lost.t()
    possible, known = torch.isfinite(lost), ~lost[-1].isnan()
    points = torch.where(possible, TEN * lost, 0.0)
    wanted = torch.softmax(torch.where(possible, -points / SOFT, -torch.inf).where(known, 0.0), dim=0)
    said = torch.where(possible, log_probs.clamp(min=LEAST), 0.0)
    return known * (log_probs.exp() * points - wanted * said).sum(dim=0) / 2


def policy_gradient(log_prob: Tensor, weight: Tensor) -> Tensor:
    """REINFORCE's loss; ``weight[B]`` is return less baseline (Williams 1992, Machine Learning 8, section 4)."""
    assert log_prob.ndim == 1 and log_prob.shape == weight.shape
    return -(log_prob * weight).mean()
