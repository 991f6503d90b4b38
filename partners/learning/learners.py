"""PPO and REINFORCE: a learner improves one network from the experience of complete games.

A learner's whole state is :meth:`Learner.state`, and its random numbers are a function of (seed, update): saved and
restored after any update, it continues bit by bit as if it had never stopped. The losses are pure functions of tensors,
each with its paper; B decisions; T own decisions of N games.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from dond_marl.errors import RunFailure
from dond_marl.game import ITEMS
from dond_marl.randomness import generator
from dond_marl.solvers.recognition import LEVELS
from dond_marl.statistics import TEN
from partners.learning.adam import Adam
from partners.learning.average_policy import AveragePolicy
from partners.learning.experience import Experience
from partners.learning.settings import LearnerSettings
from partners.network.checkpoint import NETWORK, with_prefix
from partners.network.heads import ActionDistribution
from partners.network.layers import TanhLayer
from partners.network.network import PolicyNetwork, orthogonal_weights, with_weights

ADAM_EPSILON = 1e-5  # Engstrom et al. 2020 (arXiv 2005.12729): PPO implementations use it instead of 1e-8
ROUNDING = 1e-5  # share of a whole: a smaller spread of advantages is rounding and is not scaled up to a full step
REFERENCE, CRITIC, MOMENTS = "reference.", "critic.", "optimizer."  # prefixes of tensor names
RESPONDER = "responder."  # prefix of the learner's own tensors if the average policy is the network that plays
CRITIC_HIDDEN = 64
CRITIC_LAYERS = (1000, 1001)  # numbers that no network's layers have, so that initial weights are drawn independently
REGRET_SCALE = 0.15  # points of ten: in the target policy an act with so much regret has 1/e of the best act's weight
LEAST_LOG_PROB = -30.0  # nats: log-probabilities are clipped here before they meet the target policy


class LearningBatch(NamedTuple):
    """M decisions to learn from, one row each; columns that the experience lacks are None."""

    inputs: Tensor  # [M, R] by PolicyNetwork.prepare
    mask: Tensor  # [M, 4, W] bool
    act: Tensor  # [M] int64
    oA: Tensor  # [M, 3] int64
    log_prob: Tensor  # [M] of the action when it was played, by drop_label
    advantage: Tensor  # [M] weight of the action's log-probability
    value_target: Tensor | None = None  # [M] returns
    reference_logits: Tensor | None = None  # [M, ...] the reference policy's
    regrets: Tensor | None = None  # [M, A] of every action; see partners.learning.exact_targets
    targets: Tensor | None = None  # [M, 4] int64 privileged targets; see partners.mixture.privileged_targets
    posterior: Tensor | None = None  # [M, 33 + K] exact belief; NaN where unknown
    unread_label: Tensor | None = None  # [M] of offers: see Experience.unread_label


LossTerm = tuple[str, float, Tensor]  # name of the metric, weight in the loss, mean over the decisions (a scalar)


class Learner:
    """One network with its optimizer and counters.

    ``reference``: with ``settings.kl``, the policy that a KL penalty pulls the network toward. ``average``: with NFSP,
    the average policy, which is then the result instead of the network.
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
        self.optimizer = Adam(self._parameters(), settings.lr, ADAM_EPSILON)

    def update(self, experience: Experience) -> dict[str, float]:
        """Improve the network once; returns metrics, means over decisions. Raises ``RunFailure`` if it diverges."""
        if not experience.size:
            return {}
        experience = experience.on_device(self.network.device)
        remaining = self._share_remaining()
        self.optimizer.lr = self.settings.lr * remaining
        self.network.train()
        step = self._ppo if self.settings.algo == "ppo" else self._reinforce
        metrics = step(experience, self.settings.ent * remaining)
        self.network.eval()
        if self.reference is not None and self.settings.magnet:
            move_toward(self.reference, self.network, self.settings.magnet)
        if self.average is not None:
            metrics["average_loss"] = self.average.learn(experience, self.updates, self.decisions)
        trained = [*self._parameters(), *(() if self.average is None else self.average.network.parameters())]
        if not all(bool(value.isfinite().all()) for value in trained):
            raise RunFailure(f"weights are not finite after update {self.updates + 1}: lower lr={self.settings.lr:g}")
        self.updates += 1
        self.decisions += experience.size
        return metrics

    def state(self) -> tuple[dict[str, Tensor], dict[str, int]]:
        """Everything that the next update depends on: tensors by name, and counters."""
        prefix = NETWORK if self.average is None else RESPONDER
        tensors = {f"{prefix}{name}": value for name, value in self.network.state_dict().items()}
        if self.average is not None:
            tensors |= self.average.state()
        if self.critic is not None:
            tensors |= {f"{CRITIC}{name}": value for name, value in self.critic.state_dict().items()}
        tensors |= self.optimizer.state(MOMENTS)
        if self.reference is not None:
            tensors |= {f"{REFERENCE}{name}": value for name, value in self.reference.state_dict().items()}
        return tensors, {"updates": self.updates, "decisions": self.decisions}

    def restore(self, tensors: dict[str, Tensor], counters: dict[str, int]) -> None:
        """Load what :meth:`state` returned."""
        self.network.load_state_dict(with_prefix(tensors, NETWORK if self.average is None else RESPONDER))
        if self.average is not None:
            self.average.restore(tensors)
        if self.critic is not None:
            self.critic.load_state_dict(with_prefix(tensors, CRITIC))
        self.optimizer.restore(with_prefix(tensors, MOMENTS))
        reference = with_prefix(tensors, REFERENCE)
        if reference and self.settings.kl:
            self.reference = with_weights(self.network.shape, reference, self.network.device)
        self.updates, self.decisions = counters["updates"], counters["decisions"]

    def _parameters(self) -> list[torch.nn.Parameter]:
        """All trained parameters: the network's, then the critic's."""
        return [*self.network.parameters(), *([] if self.critic is None else self.critic.parameters())]

    def _share_remaining(self) -> float:
        """The share of the training that remains, 1 to 0, by which settings are annealed; 1 without annealing."""
        if not self.settings.anneal:
            return 1.0
        return max(1.0 - self.decisions / max(self.settings.total_decisions, 1), 0.0)

    def _ppo(self, experience: Experience, entropy_weight: float) -> dict[str, float]:
        """Schulman et al. 2017 (arXiv 1707.06347), algorithm 1.

        ``loss = policy_loss + vf * value_loss + (optional terms, each with its weight) - ent * entropy``
        """
        settings, network = self.settings, self.network
        names: list[str] = []
        totals = torch.zeros((), device=network.device)
        for batch in self._minibatches(self._ppo_batch(experience)):
            assert batch.value_target is not None
            hidden = network.trunk_output(batch.inputs)
            logits, value = network.heads(hidden, batch.inputs)
            if self.critic is not None:
                value = self._critic_value(hidden, batch.inputs, batch.targets)
            policy = network.distribution(logits, batch.mask, batch.inputs)
            played = policy.log_probs(batch.act, batch.oA)
            log_prob = drop_label(played.log_prob, policy.label_log_odds(), batch.unread_label)
            surrogate = clipped_surrogate(log_prob, batch.log_prob, batch.advantage, settings.clip)
            error, entropy = value_loss(value, batch.value_target), played.entropy.mean()
            loss = surrogate + settings.vf * error
            optional = {}
            for name, weight, term in self._optional_terms(policy, hidden, batch):
                loss = loss + weight * term
                optional[name] = term
            self.optimizer.descend(loss - entropy_weight * entropy if entropy_weight else loss, settings.grad_norm)
            with torch.no_grad():
                drift = (batch.log_prob - log_prob).mean()
                metrics = {"policy_loss": surrogate, "value_loss": error, "entropy": entropy, "kl": drift, **optional}
                totals = totals + len(batch.act) * torch.stack(list(metrics.values()))
                names = list(metrics)
        means = (totals / (experience.size * settings.epochs)).tolist()
        return dict(zip(names, means, strict=True))

    def _ppo_batch(self, experience: Experience) -> LearningBatch:
        """Advantages, returns and the columns of the optional terms, one row per decision."""
        settings, slot, batch = self.settings, experience.slot, self._batch(experience)
        value, regrets = experience.value, experience.regrets
        if self.critic is not None:
            with torch.no_grad():
                value = self._critic_value(self.network.trunk_output(batch.inputs), batch.inputs, batch.targets)
        advantage, returns = generalized_advantages(
            experience.reward, experience.dense(value), experience.is_decision, settings.gamma, settings.lam
        )
        advantages = advantage.view(-1)[slot]
        advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + ROUNDING)
        if regrets is not None:  # where every act's regret is known, sampled rewards would only add variance
            advantages = advantages * regrets[:, -1].isnan()
        return batch._replace(advantage=advantages, value_target=returns.view(-1)[slot], regrets=regrets)

    @torch.no_grad()
    def _batch(self, experience: Experience) -> LearningBatch:
        """The columns that both algorithms learn from; ``advantage`` is to be replaced."""
        inputs, unread = self.network.prepare(experience.features), experience.unread_label
        return LearningBatch(
            inputs,
            experience.mask,
            experience.act,
            experience.oA,
            drop_label(experience.log_prob, experience.label_log_odds, unread),
            advantage=experience.value,
            reference_logits=None if self.reference is None else self.reference.evaluate(inputs)[0],
            targets=experience.targets,
            posterior=experience.posterior,
            unread_label=unread,
        )

    def _reinforce(self, experience: Experience, entropy_weight: float) -> dict[str, float]:
        """Williams 1992; the baseline is the mean return of the seat, so that the seats' advantages do not mix."""
        returns = discounted_returns(experience.reward, experience.is_decision, self.settings.gamma)
        seat = experience.seat.repeat(len(experience.reward))[experience.slot]
        weight = returns.view(-1)[experience.slot]
        for number in (0, 1):
            weight = torch.where(seat == number, weight - weight[seat == number].mean().nan_to_num(), weight)
        weight = weight / (weight.square().mean().sqrt() + ROUNDING)
        network, batch = self.network, self._batch(experience)
        hidden = network.trunk_output(batch.inputs)
        policy = network.distribution(network.heads(hidden, batch.inputs)[0], batch.mask, batch.inputs)
        played = policy.log_probs(batch.act, batch.oA)
        log_prob = drop_label(played.log_prob, policy.label_log_odds(), batch.unread_label)
        loss, entropy = policy_gradient(log_prob, weight), played.entropy.mean()
        metrics = {"policy_loss": float(loss.detach()), "entropy": float(entropy.detach())}
        loss = loss - entropy_weight * entropy
        for name, factor, term in self._optional_terms(policy, hidden, batch):
            metrics[name] = float(term.detach())
            loss = loss + factor * term
        self.optimizer.descend(loss)
        return metrics

    def _optional_terms(self, policy: ActionDistribution, hidden: Tensor, batch: LearningBatch) -> Iterator[LossTerm]:
        """The loss terms that settings turn on: KL penalty, cross-entropy of beliefs, regret."""
        settings, network = self.settings, self.network
        if batch.reference_logits is not None:
            reference = network.distribution(batch.reference_logits, batch.mask, batch.inputs)
            yield "reference_kl", settings.kl, policy.divergence(reference).mean()
        if settings.belief:
            assert batch.targets is not None
            logits = network.belief_logits(hidden, batch.inputs)
            yield "belief_loss", settings.belief, belief_loss(*logits, batch.targets, batch.posterior)
        if batch.regrets is not None:
            log_probs = policy.log_probs_by_number(network.shape.max_count)
            yield "taught_loss", settings.exact_reply, regret_loss(log_probs, batch.regrets).mean()

    def _critic_value(self, hidden: Tensor, inputs: Tensor, targets: Tensor | None) -> Tensor:
        """Values ``[M]`` by the critic that sees both seats' values."""
        assert self.critic is not None and targets is not None
        value: Tensor = self.critic(hidden, self.network.in_own_order(targets[:, :3].t(), inputs))
        return value

    def _minibatches(self, batch: LearningBatch) -> Iterator[LearningBatch]:
        """Every row once per epoch, in a new random order each epoch."""
        columns = {name: column.contiguous() for name, column in batch._asdict().items() if column is not None}
        for epoch in range(self.settings.epochs):
            order = generator(self.seed, "minibatches", self.updates, epoch).permutation(len(batch.act))
            rows = torch.from_numpy(order).to(self.network.device)
            # Shuffled all at once, so that minibatches are slices.
            parts = [torch.split(column.index_select(0, rows), self.settings.minibatch) for column in columns.values()]
            for part in zip(*parts, strict=True):
                yield LearningBatch(**dict(zip(columns, part, strict=True)))


class Critic(nn.Module):
    """A value function of the trunk's output and of both seats' values, used in learning only.

    The value of a decision depends on the partner's values, which the seat cannot see. A critic that sees them gives
    advantages with less variance; the policy still reads its own features only (Pinto, Andrychowicz, Welinder, Zaremba,
    Abbeel 2018, *Asymmetric actor critic for image-based robot learning*, RSS, arXiv 1710.06542).
    """

    def __init__(self, network: PolicyNetwork, seed: int) -> None:
        super().__init__()
        self.inner = nn.Linear(network.head.in_features + len(ITEMS) * LEVELS, CRITIC_HIDDEN)
        self.outer = nn.Linear(CRITIC_HIDDEN, 1)
        orthogonal_weights(self.inner, math.sqrt(2), seed, CRITIC_LAYERS[0])
        orthogonal_weights(self.outer, 0.01, seed, CRITIC_LAYERS[1])

    def forward(self, hidden: Tensor, values: Tensor) -> Tensor:
        """Values ``[B]`` as a share of the whole.

        ``hidden[B, H]``: output of the trunk; ``values[3, B]``: the partner's, in the network's own order of items.
        """
        one_hot = torch.nn.functional.one_hot(values.t(), LEVELS).flatten(1).to(hidden.dtype)
        inputs = torch.cat([hidden, one_hot], dim=1)
        worth: Tensor = self.outer(TanhLayer.apply(inputs, self.inner.weight, self.inner.bias))  # type: ignore[no-untyped-call]
        return worth.squeeze(1)


@torch.no_grad()
def move_toward(reference: PolicyNetwork, network: PolicyNetwork, share: float) -> None:
    """Move the weights of ``reference`` toward ``network`` by ``share`` (0..1) of the difference.

    A moving reference is a magnet: plain self-play cycles where no pure strategy is best, while mirror descent with a
    KL penalty toward a magnet (Sokota et al. 2023, *A Unified Approach to Reinforcement Learning, Quantal Response
    Equilibria, and Two-Player Zero-Sum Games*, section 3) converges to the equilibrium of the regularised game. A
    magnet that moves toward the learner takes that to an equilibrium of the game itself (compare the replaced reference
    of Perolat et al. 2022, *Mastering Stratego*). Unlike there, PPO's clip stands for the divergence from the last
    iterate, and the magnet moves in weights, not in probabilities.
    """
    for target, source in zip(reference.parameters(), network.parameters(), strict=True):
        target.lerp_(source, share)


def drop_label(log_prob: Tensor, label_log_odds: Tensor, unread_label: Tensor | None) -> Tensor:
    """The log-probabilities ``[B]`` of actions without that of a label that the partner does not read.

    Such a label changed nothing of its game, so that its gradient would be noise alone. What is left is the
    log-probability of an offer of that split, by either label. Elsewhere a constant is subtracted, which ratios of
    probabilities and their gradients do not show. ``label_log_odds[B]``: of INSIST to PROPOSE.
    """
    return log_prob if unread_label is None else log_prob - logsigmoid(label_log_odds * unread_label)


def generalized_advantages(
    reward: Tensor, value: Tensor, played: Tensor, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """Advantages and returns of complete games (Schulman et al. 2016, arXiv 1506.02438, equation 16).

    ``reward[T, N]``, ``value[T, N]``, ``played[T, N]`` bool: a game's own decisions come first, without gaps. Games are
    complete, so nothing is bootstrapped. Zeros where ``played`` is False.
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
    """The return of each own decision: the sum of ``gamma**k`` times the reward k decisions later, ``[T, N]``."""
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


def belief_loss(
    value_logits: Tensor, member_logits: Tensor, targets: Tensor, posterior: Tensor | None = None
) -> Tensor:
    """Cross-entropy of a network's beliefs about its partner, nats per decision, a scalar.

    ``value_logits[3, 11, B]``: of each item's value; ``member_logits[M, B]``: of the partner's identity;
    ``targets[B, 4]`` int64: the true values and the true member's number, below 0 for a partner that is no member
    (nothing is learned about its identity). The logarithmic score is proper: only the true probabilities minimise it
    (Gneiting and Raftery 2007, section 4.1). Predicting the other agent as an auxiliary task: Papoudakis, Christianos,
    Albrecht 2021 (arXiv 2006.09447).

    ``posterior[B, 33 + M]``: the exact belief, NaN where unknown. Where known it replaces the one-hot target: the same
    expectation with less variance.
    """
    size = len(targets)
    assert value_logits.shape[::2] == (3, size) and member_logits.shape[1] == size == targets.numel() // 4, (
        targets.shape
    )
    if posterior is None:
        return _cross_entropy(value_logits, member_logits, targets) / size
    assert posterior.shape == (size, 3 * value_logits.shape[1] + len(member_logits)), posterior.shape
    exact = ~posterior[:, 0].isnan()
    inexact = (~exact).nonzero().flatten()
    parts = [torch.log_softmax(value_logits, dim=1).flatten(0, 1), torch.log_softmax(member_logits, dim=0)]
    expected = -(torch.where(exact[:, None], posterior, 0.0) * torch.cat(parts).t()).sum()
    return (expected + _cross_entropy(value_logits[:, :, inexact], member_logits[:, inexact], targets[inexact])) / size


def _cross_entropy(value_logits: Tensor, member_logits: Tensor, targets: Tensor) -> Tensor:
    """The summed cross-entropy of B decisions against one-hot targets."""
    log_probs = torch.log_softmax(value_logits, dim=1).gather(1, targets[:, :3].t()[:, None])
    total = -log_probs.sum()
    if len(member_logits):
        is_member = targets[:, 3] >= 0
        named = torch.log_softmax(member_logits, dim=0).gather(0, targets[:, 3].clamp(min=0)[None]).squeeze(0)
        total = total - (named * is_member).sum()
    return total


def regret_loss(log_probs: Tensor, regrets: Tensor) -> Tensor:
    """Distance of a policy from the acts without regret, ``[B]``; zero where regrets are unknown.

    ``log_probs[A, B]`` of every act; ``regrets[B, A]``: of each act, as a share of the whole, infinite for illegal
    acts, NaN where unknown. Half of it is the expected regret in points of ten (Ross and Bagnell 2014, arXiv
    1406.5979), half the cross-entropy, in nats, against the target policy ``exp(-points / REGRET_SCALE)``: the
    first alone hardly moves a policy that is certain of a wrong act.
    """
    assert log_probs.shape == regrets.t().shape, (log_probs.shape, regrets.shape)
    regrets = regrets.t()
    possible, has_regrets = torch.isfinite(regrets), ~regrets[-1].isnan()
    points = torch.where(possible, TEN * regrets, 0.0)
    targets = torch.softmax(torch.where(possible, -points / REGRET_SCALE, -torch.inf).where(has_regrets, 0.0), dim=0)
    clipped = torch.where(possible, log_probs.clamp(min=LEAST_LOG_PROB), 0.0)
    return has_regrets * (log_probs.exp() * points - targets * clipped).sum(dim=0) / 2


def policy_gradient(log_prob: Tensor, weight: Tensor) -> Tensor:
    """REINFORCE's loss; ``weight[B]`` is return minus baseline (Williams 1992, Machine Learning 8, section 4)."""
    assert log_prob.ndim == 1 and log_prob.shape == weight.shape
    return -(log_prob * weight).mean()
