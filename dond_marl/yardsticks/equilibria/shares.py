"""What an exploitability is made of: what any rational partner concedes, and what is weak.

A policy gets v in a seat against itself, and a best response to it gets b there: its exploitability is b - v, and
NashConv the sum over both seats (Lanctot et al. 2017, arXiv 1711.00832, section 2). It says two things at once. A
policy that asks for less than a rational partner grants loses by that whoever sits opposite; in a game that ends like
an ultimatum this is the power of who moves first. Let e be what a best response to an equilibrium gets in the seat, so
to a partner that answers and offers rationally. Then

    b - v  =  (e - v)  +  (b - e)

*Conceded*, e - v, is what the seat would gain against any rational partner by asking for it: it depends on what the
policy itself takes alone. *Weak*, b - e, is what the policy's own answers and offers, in the other seat, give away
beyond what an equilibrium's do. Either may be negative: a seat may take more than an equilibrium's does because its
other half is weak, and answers may be harder than rational ones, at a cost to who gives them.
"""

from __future__ import annotations

from typing import NamedTuple

from dond_marl.yardsticks.equilibria.table import Pair


class Shares(NamedTuple):
    """The parts of one seat's exploitability, each at least and at most, points of ten."""

    conceded: Pair
    weak: Pair


def shares(own: float, response: Pair, rational: Pair) -> Shares:
    """The parts in a seat in which a policy gets ``own`` against itself.

    ``response``: what a best response to the policy gets there, ``rational``: what one to an equilibrium gets, each at
    least and at most.
    """
    (least, most), (low, high) = response, rational
    return Shares((low - own, high - own), (least - high, most - low))
