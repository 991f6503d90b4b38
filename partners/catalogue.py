"""Every built-in occupant by name. A new partner is one class and one line here; the conformance suite finds it."""

from __future__ import annotations

from collections.abc import Sequence

from dond_marl.occupants import Factory, Spec
from dond_marl.seats import Partner
from partners.best_response import BestResponse
from partners.human import human
from partners.llm.occupant import llm
from partners.mixture import Mixture
from partners.network.saved import checkpoint, expert
from partners.rosters import TRAIN, roster
from partners.scripted.bayesian import NashSeeker, NiceTitForTat, Prosocial, Ultimatum
from partners.scripted.chance import Nice, Random
from partners.scripted.heuristic import FirstAcceptableOffer, Heuristic, Pushover, Stubborn, Tough, Versatile
from partners.scripted.reactive import ConcessionRule, Hybrid, Micro, NaiveTitForTat
from partners.scripted.time_based import Boulware, Conceder, Linear

UNSCRIPTED = ("best_response", "checkpoint", "expert", "human", "llm", "mixture")  # whose play is learned or another's


def scripted() -> list[str]:
    """The names of the built-in partners that follow a fixed program and need no parameters, sorted."""
    return [name for name in PARTNERS if name not in UNSCRIPTED]


def mixture(of: Sequence[Spec | Partner] | str, weights: Sequence[float] | None = None) -> Mixture:
    """Draws one of several partners for each game and stays it to the end.

    Source: mixed strategies; a population of partners as one opponent (Strouse et al. 2021, arXiv 2110.08176).
    ``of``: occupants (names, mappings or partners), or ``zoo`` for the members of the roster train
    (:mod:`partners.rosters`); ``weights``: how often each, by default equally.

    - ``of``: a list of occupants, or ``zoo``.
    - ``weights``: a list of numbers of at least 0, one for each.
    """
    return Mixture(roster(TRAIN) if of == "zoo" else of, weights)


PARTNERS: dict[str, Factory] = {
    "best_response": BestResponse,
    "boulware": Boulware,
    "checkpoint": checkpoint,
    "conceder": Conceder,
    "concession_rule": ConcessionRule,
    "expert": expert,
    "first_acceptable_offer": FirstAcceptableOffer,
    "heuristic": Heuristic,
    "human": human,
    "hybrid": Hybrid,
    "linear": Linear,
    "llm": llm,
    "micro": Micro,
    "mixture": mixture,
    "naive_tit_for_tat": NaiveTitForTat,
    "nash_seeker": NashSeeker,
    "nice": Nice,
    "nice_tit_for_tat": NiceTitForTat,
    "prosocial": Prosocial,
    "pushover": Pushover,
    "random": Random,
    "stubborn": Stubborn,
    "tough": Tough,
    "ultimatum": Ultimatum,
    "versatile": Versatile,
}
