"""Negotiators of NegMAS for the tests of its room, loaded by the worker alone."""

import contextlib
import itertools
import os
import random

from negmas.sao import ResponseType, SAONegotiator, SAOResponse


class Ladder(SAONegotiator):
    """Offers its outcomes from best to worst, one a turn, ties in order; accepts what is worth as much as the next."""

    def __init__(self, *args, step=1, **kwargs):
        super().__init__(*args, **kwargs)
        self.step, self.made = step, 0

    def ranked(self):
        outcomes = itertools.product(*(range(len(list(issue.all))) for issue in self.nmi.outcome_space.issues))
        return sorted(outcomes, key=lambda outcome: (-round(float(self.ufun(outcome)), 6), outcome))

    def __call__(self, state, dest=None):
        ranked = self.ranked()
        next_one = ranked[min(self.made * self.step, len(ranked) - 1)]
        offer = state.current_offer
        if offer is not None and float(self.ufun(offer)) >= float(self.ufun(next_one)) - 1e-6:
            return SAOResponse(ResponseType.ACCEPT_OFFER, offer)
        self.made += 1
        return SAOResponse(ResponseType.REJECT_OFFER, next_one)

    def propose(self, state, dest=None):
        return None


class Dice(Ladder):
    """Offers whatever the global generator, one without a seed and NumPy's say, and never accepts."""

    def __call__(self, state, dest=None):
        import numpy as np

        ranked = self.ranked()
        which = (random.random() + random.Random().random() + np.random.rand() + np.random.default_rng().random()) / 4  # noqa: NPY002
        return SAOResponse(ResponseType.REJECT_OFFER, ranked[int(which * len(ranked))])


class Broken(Ladder):
    """Goes wrong on its second turn, in the way that it is made with."""

    def __init__(self, *args, how="raises", **kwargs):
        super().__init__(*args, **kwargs)
        self.how = how

    def __call__(self, state, dest=None):
        if self.made < 1:
            return super().__call__(state)
        if self.how == "raises":
            raise RuntimeError("no idea")
        if self.how == "stumbles":  # which NegMAS takes for a call of the wrong form, and calls again
            raise TypeError("takes 1 positional argument but 2 were given")
        if self.how == "hangs":
            while True:
                with contextlib.suppress(Exception):
                    sum(range(1000))
        if self.how == "dies":
            os._exit(3)
        print("a line on standard output")
        return SAOResponse(ResponseType.REJECT_OFFER, (99, 0, 0))


class Hasty(SAONegotiator):
    """Accepts before anything was offered."""

    def __call__(self, state, dest=None):
        return SAOResponse(ResponseType.ACCEPT_OFFER, None)

    def propose(self, state, dest=None):
        return None


class Wordy(Ladder):
    """Refuses with words alone, then offers everything to itself."""

    def __call__(self, state, dest=None):
        self.made += 1
        if self.made == 1:
            return SAOResponse(ResponseType.REJECT_OFFER, None, {"text": "come on"})
        return SAOResponse(ResponseType.REJECT_OFFER, self.ranked()[0])


class Curious(Ladder):
    """Offers what it likes best of what the other likes best, as it is informed."""

    def __call__(self, state, dest=None):
        self.made += 1
        theirs = self.opponent_ufun
        best = max(self.ranked(), key=lambda outcome: (round(float(theirs(outcome)), 6), float(self.ufun(outcome))))
        return SAOResponse(ResponseType.REJECT_OFFER, best)


class Hoarder(Ladder):
    """Keeps its partner's offers in a list of its class, and goes wrong where an offer of another game is in it."""

    heard = []  # noqa: RUF012  # what it is about

    def __call__(self, state, dest=None):
        self.heard.append((id(self), state.current_offer))
        if len({who for who, _ in self.heard}) > 1:
            raise RuntimeError("a stranger's offer")
        return super().__call__(state)
