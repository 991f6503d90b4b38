"""Every built-in occupant by name. A new partner is one class and one line here; the conformance suite finds it."""

from __future__ import annotations

from dond_marl.occupants import Factory
from partners.best_response import BestResponse
from partners.human import human
from partners.llm.occupant import llm
from partners.mixture import Mixture
from partners.network.saved import checkpoint, expert
from partners.scripted.bayesian import NashSeeker, NiceTitForTat, Prosocial, Ultimatum
from partners.scripted.chance import Nice, Random
from partners.scripted.greedy import FirstAcceptableOffer, Heuristic, Pushover, Stubborn, Tough, Versatile
from partners.scripted.reactive import ConcessionRule, Hybrid, Micro, NaiveTitForTat
from partners.scripted.time_based import Boulware, Conceder, Linear

# Whose play is learned, or somebody else's.
UNSCRIPTED = ("best_response", "checkpoint", "expert", "human", "llm", "mixture")

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
    "mixture": Mixture,
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
