"""Action distributions of a policy network, by either of two heads.

Factored, the default: the act and the three entries of ``oA`` are independent. Joint: the act, and given PROPOSE and
given INSIST a distribution over all splits of the pool, so that a network can mix "two of these or one of those". In
memory the B actions are the last axis: every step runs over long rows, ten times as fast as over rows of few choices.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import torch
from torch import Tensor

from dond_marl.game import ITEMS, Act
from dond_marl.splits import grid
from partners.network.probabilities import ActionProbabilities, FactoredProbabilities, JointProbabilities
from partners.network.shape import MASKED

OFFERS = Act.INSIST + 1  # number of acts that make an offer; they are the first


class ActionLogProbs(NamedTuple):
    """Log-probabilities of B actions and the entropy of their distributions, ``[B]`` each, in nats."""

    act: Tensor  # log-probability of the act
    offer: Tensor  # log-probability of the offer given the act; 0 for acts without one
    entropy: Tensor  # of the whole action, exact: the offer's weighted by the probability of an offer

    @property
    def log_prob(self) -> Tensor:
        """The log-probability of the action."""
        return self.act + self.offer


class ActionDistribution(Protocol):
    """The distributions of B actions. ``act[B]`` and ``oA[B, 3]`` are int64; ``oA`` matters for offers only."""

    def log_probs(self, act: Tensor, oA: Tensor) -> ActionLogProbs:
        """The log-probabilities of these actions, and the entropy of the distributions."""
        ...

    def label_log_odds(self) -> Tensor:
        """The log-odds of INSIST to PROPOSE, ``[B]``."""
        ...

    def divergence(self, reference: Self) -> Tensor:
        """The exact Kullback-Leibler divergence of the whole action from another policy's, in nats, ``[B]``.

        The sum over all actions is that of the act and, by the probability of an offer, of what is offered (Cover and
        Thomas 2006, section 2.5: the chain rule).
        """
        ...

    def log_probs_by_number(self, max_count: int) -> Tensor:
        """The log-probability of every numbered act (:mod:`dond_marl.splits`), ``[2K + 3, B]``."""
        ...

    def sample(self, uniforms: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Sampled acts ``[B]``, offers ``[B, 3]`` (of every row), and their log-probabilities ``[B]``.

        ``uniforms[4 or more, B]``: the noise; None: the likeliest act, then the likeliest offer.
        """
        ...

    def probabilities(self, size: int) -> ActionProbabilities:
        """The probabilities of the first ``size`` rows as NumPy arrays."""
        ...


class Factored:
    """Independent parts of an action, the act and three entries of ``oA``: ``logits[B, 4, W]``, legal at ``mask``."""

    def __init__(self, logits: Tensor, mask: Tensor) -> None:
        assert logits.ndim == 3 and logits.shape == mask.shape and logits.shape[1] == 4, (logits.shape, mask.shape)
        choices = logits.permute(1, 2, 0)
        self._logits = choices + _penalty(mask.permute(1, 2, 0), choices)  # [4, W, B]

    @cached_property
    def _log_probs(self) -> Tensor:
        return torch.log_softmax(self._logits, dim=1)

    def log_probs(self, act: Tensor, oA: Tensor) -> ActionLogProbs:
        assert act.shape == oA.shape[:1] and oA.shape[1] == 3, (act.shape, oA.shape)
        parts, entropies = _log_probs(self._logits, torch.cat([act[None], oA.t()]))  # [4, B]
        offered = torch.softmax(self._logits[0], dim=0)[:OFFERS].sum(dim=0)
        entropy = entropies[0] + offered * entropies[1:].sum(dim=0)
        return ActionLogProbs(parts[0], (act <= Act.INSIST) * parts[1:].sum(dim=0), entropy)

    def label_log_odds(self) -> Tensor:
        return self._logits[0, Act.INSIST] - self._logits[0, Act.PROPOSE]

    def divergence(self, reference: Self) -> Tensor:
        log_probs, reference_log_probs = self._log_probs, reference._log_probs
        probs = log_probs.exp()
        # [4, B]; masked choices have probability zero in both
        parts = (probs * (log_probs - reference_log_probs)).sum(dim=1)
        return parts[0] + probs[0, :OFFERS].sum(dim=0) * parts[1:].sum(dim=0)

    def log_probs_by_number(self, max_count: int) -> Tensor:
        act, *items = self._log_probs
        book, hat, ball = (item[: max_count + 1] for item in items)
        offers = ((book[:, None] + hat)[:, :, None] + ball).flatten(0, 2)
        return torch.cat([act[0] + offers, act[1] + offers, act[OFFERS : len(Act)]])

    def sample(self, uniforms: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        probs = torch.softmax(self._logits, dim=1)
        chosen = _likeliest(probs) if uniforms is None else _sample(probs, uniforms[: len(probs)])
        parts = probs.gather(1, chosen[:, None]).squeeze(1).log()
        return chosen[0], chosen[1:].t(), parts[0] + (chosen[0] <= Act.INSIST) * parts[1:].sum(dim=0)

    def probabilities(self, size: int) -> ActionProbabilities:
        return FactoredProbabilities(torch.softmax(self._logits, dim=1).permute(2, 0, 1)[:size].cpu().numpy())


class Joint:
    """The act, then all splits given PROPOSE, then given INSIST: ``logits[B, 5 + 2K]``.

    Splits are in the network's own order of items, ``places[3, B]`` being the place of each item of the turn (None: the
    turn's order), so that only the chosen offer has to be reordered, not all splits. ``mask[B, 4, W]``: legal choices,
    in the turn's order.
    """

    def __init__(self, logits: Tensor, mask: Tensor, places: Tensor | None = None) -> None:
        columns, allowed = logits.t(), _penalty(mask.permute(1, 2, 0), logits)  # [4, W, B]
        splits = (len(columns) - len(Act)) // OFFERS
        side = round(splits ** (1 / 3))
        self.max_count, self._places = side - 1, places
        self._act = columns[: len(Act)] + allowed[0, : len(Act)]
        first, second, third = _move_items(allowed[1:, :side], places)
        within = ((first[:, None] + second)[:, :, None] + third).flatten(0, 2)
        self._offers = columns[len(Act) :].view(OFFERS, splits, -1) + within

    def log_probs(self, act: Tensor, oA: Tensor) -> ActionLogProbs:
        book, hat, ball = _move_items(oA.t(), self._places)
        side = self.max_count + 1
        is_offer = act <= Act.INSIST
        number = ((book * side + hat) * side + ball) * is_offer
        offers, entropies = _log_probs(self._offers, number.expand(OFFERS, -1))
        acts, act_entropies = _log_probs(self._act[None], act[None])
        entropy = act_entropies[0] + (torch.softmax(self._act, dim=0)[:OFFERS] * entropies).sum(dim=0)
        offer = is_offer * torch.where(act == Act.INSIST, offers[Act.INSIST], offers[Act.PROPOSE])
        return ActionLogProbs(acts[0], offer, entropy)

    def label_log_odds(self) -> Tensor:
        return self._act[Act.INSIST] - self._act[Act.PROPOSE]

    def divergence(self, reference: Self) -> Tensor:
        act, offers = (_divergence(*pair) for pair in ((self._act, reference._act), (self._offers, reference._offers)))
        return act + (torch.softmax(self._act, dim=0)[:OFFERS] * offers).sum(dim=0)

    def log_probs_by_number(self, max_count: int) -> Tensor:
        assert max_count == self.max_count, (max_count, self.max_count)
        act, offers = torch.log_softmax(self._act, dim=0), torch.log_softmax(self._offers, dim=1)
        if self._places is not None:
            base = self.max_count + 1
            turns = torch.tensor(grid(self.max_count), dtype=torch.int64, device=offers.device)
            numbers = turns @ base ** (len(ITEMS) - 1 - self._places)  # [K, B] the number in the network's own order
            offers = offers.gather(1, numbers.expand(OFFERS, -1, -1))
        return torch.cat([act[0] + offers[0], act[1] + offers[1], act[OFFERS:]])

    def sample(self, uniforms: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        probs = torch.softmax(self._act, dim=0)
        act = _likeliest(probs[None])[0] if uniforms is None else _sample(probs[None], uniforms[None, 0])[0]
        # Only the splits given the chosen act are needed.
        splits = torch.softmax(torch.where(act == Act.INSIST, self._offers[1], self._offers[0]), dim=0)
        number = _likeliest(splits[None])[0] if uniforms is None else _sample(splits[None], uniforms[None, 1])[0]
        side = self.max_count + 1
        ordered = torch.stack([number // (side * side), number // side % side, number % side])
        oA = ordered if self._places is None else ordered.gather(0, self._places)
        offered = splits.gather(0, number[None]).squeeze(0)
        odds = probs.gather(0, act[None]).squeeze(0) * torch.where(act <= Act.INSIST, offered, 1.0)
        return act, oA.t(), odds.log()

    def probabilities(self, size: int) -> ActionProbabilities:
        act = torch.softmax(self._act, dim=0).t()[:size]
        offers = torch.softmax(self._offers, dim=1).permute(2, 0, 1)[:size]
        places = torch.arange(len(ITEMS))[:, None].expand(-1, size) if self._places is None else self._places[:, :size]
        return JointProbabilities(act.cpu().numpy(), offers.cpu().numpy(), places.t().cpu().numpy(), self.max_count)


def _log_probs(logits: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probabilities of the choices ``chosen[P, B]`` by ``logits[P, W, B]``, and entropies, ``[P, B]`` both."""
    log_probs, entropies = _LogProbs.apply(logits, chosen)  # type: ignore[no-untyped-call]
    return log_probs, entropies


class _LogProbs(torch.autograd.Function):
    """:func:`_log_probs`; PyTorch's own gradient makes three times as many passes over the choices."""

    @staticmethod
    def forward(context: Any, logits: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
        # softmax, not exp(log_probs): that takes ten times as long where masked logits come to zero.
        log_probs, probs = torch.log_softmax(logits, dim=1), torch.softmax(logits, dim=1)
        entropies = -(probs * log_probs).sum(dim=1)  # zero times MASKED is zero
        context.save_for_backward(log_probs, probs, entropies, chosen)
        return log_probs.gather(1, chosen[:, None]).squeeze(1), entropies

    @staticmethod
    def backward(context: Any, grad_log_prob: Tensor, grad_entropies: Tensor) -> tuple[Tensor, None]:
        # d log p(k) / d logit(j) = [j = k] - p(j); d entropy / d logit(j) = -p(j) (log p(j) + entropy).
        log_probs, probs, entropies, chosen = context.saved_tensors
        common = -grad_entropies * entropies - grad_log_prob
        gradient = (log_probs * -grad_entropies[:, None]).add_(common[:, None]).mul_(probs)
        return gradient.scatter_add_(1, chosen[:, None], grad_log_prob[:, None]), None


def _divergence(logits: Tensor, reference: Tensor) -> Tensor:
    """KL divergence ``[..., B]`` of choices ``[..., W, B]``; masked ones have probability zero in both."""
    log_probs, reference_log_probs = torch.log_softmax(logits, dim=-2), torch.log_softmax(reference, dim=-2)
    return (torch.softmax(logits, dim=-2) * (log_probs - reference_log_probs)).sum(dim=-2)


def _penalty(mask: Tensor, logits: Tensor) -> Tensor:
    """0 where ``mask`` (bool, the same shape), else about ``MASKED``: adding it is faster than selecting."""
    return (mask.to(logits.dtype) - 1).mul_(-MASKED)


def _move_items(items: Tensor, places: Tensor | None) -> Tensor:
    """Rows ``[3, ..., B]`` of the items, moved to their places ``[3, B]``."""
    if places is None:
        return items
    index = places if items.ndim == 2 else places[:, None].expand(-1, items.shape[1], -1)
    return torch.empty_like(items, memory_format=torch.contiguous_format).scatter_(0, index, items)


def _sample(probs: Tensor, uniforms: Tensor) -> Tensor:
    """Inverse-CDF samples, ``[N, W, B]`` to ``[N, B]``; a choice of probability zero is never sampled."""
    ends = probs.cumsum(dim=1)
    # In float32 a uniform can round up to 1; below it, the draw is less than the end of the last possible choice.
    draws = uniforms.clamp(max=1 - torch.finfo(ends.dtype).eps) * ends[:, -1]
    return (ends <= draws[:, None]).sum(dim=1)


def _likeliest(probs: Tensor) -> Tensor:
    """The first of the largest, ``[N, W, B]`` to ``[N, B]``; ``argmax`` across rows takes ten times as long."""
    return ((probs == probs.amax(dim=1, keepdim=True)).cumsum(dim=1) == 0).sum(dim=1)
