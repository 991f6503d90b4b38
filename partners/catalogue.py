"""The catalogue of built-in occupants by name. A new partner is one class and one line here."""

from __future__ import annotations

from collections.abc import Sequence

from dond_marl.occupants import Factory, SpecLike
from dond_marl.seats import Partner
from partners.adapters.agents import Agent
from partners.adapters.negmas_partner import NegMASPartner
from partners.bayes_reply import BayesReply
from partners.best_response import BestResponse
from partners.equilibrium import EquilibriumPartner
from partners.human import human
from partners.independent import Independent
from partners.llm.occupant import llm
from partners.mixture import Mixture
from partners.network.occupants import checkpoint, expert
from partners.rosters import occupants_named
from partners.scripted.bayesian import InequityAverse, NashSeeker, NiceTitForTat, Prosocial, SocialValue, Ultimatum
from partners.scripted.chance import LevelK, MixedThresholds, Nice, QuantalResponse, Random, Sniper, Trembling
from partners.scripted.generated import Generated
from partners.scripted.heuristic import FirstAcceptableOffer, Heuristic, Pushover, Stubborn, Tough, Versatile
from partners.scripted.reactive import (
    AspirationAdaptation,
    ConcessionRule,
    Hybrid,
    Micro,
    NaiveTitForTat,
    Punisher,
    Zeuthen,
)
from partners.scripted.rollouts import Rollouts
from partners.scripted.talking import Announcer, Liar, Listener
from partners.scripted.time_based import Bluffer, Boulware, Conceder, FrequencyModel, Linear, Personas, Similarity

# Learned, solved, searching, composite, talking and generated occupants: rosters are not drawn from them.
UNSCRIPTED = (
    *("agent", "announcer", "bayes_reply", "best_response", "checkpoint", "equilibrium", "expert", "generated"),
    *("human", "independent", "liar", "listener", "llm", "mixture", "negmas", "rollouts"),
)


def scripted_names() -> list[str]:
    """The names of the built-in partners that follow a fixed program and need no parameters, sorted."""
    return [name for name in PARTNERS if name not in UNSCRIPTED]


def mixture(of: Sequence[SpecLike | Partner] | str, weights: Sequence[float] | None = None) -> Mixture:
    """Draws one of several partners for each game.

    Source: mixed strategies; a population of partners as one opponent (Strouse et al. 2021, arXiv 2110.08176).
    ``of``: occupants (names, mappings or partners), ``zoo`` for the members of the roster train or ``bank`` for the
    programs of ``bayes_reply`` (:mod:`partners.rosters`); ``weights``: how often each, by default equally.

    - ``of``: a list of occupants, ``zoo`` or ``bank``.
    - ``weights``: a list of numbers of at least 0, one for each.
    """
    return Mixture(occupants_named(of) if of in ("bank", "zoo") else of, weights)


PARTNERS: dict[str, Factory] = {
    "agent": Agent,
    "announcer": Announcer,
    "aspiration_adaptation": AspirationAdaptation,
    "bayes_reply": BayesReply,
    "best_response": BestResponse,
    "bluffer": Bluffer,
    "boulware": Boulware,
    "checkpoint": checkpoint,
    "conceder": Conceder,
    "concession_rule": ConcessionRule,
    "equilibrium": EquilibriumPartner,
    "expert": expert,
    "first_acceptable_offer": FirstAcceptableOffer,
    "frequency_model": FrequencyModel,
    "generated": Generated,
    "heuristic": Heuristic,
    "human": human,
    "hybrid": Hybrid,
    "independent": Independent,
    "inequity_averse": InequityAverse,
    "level_k": LevelK,
    "liar": Liar,
    "linear": Linear,
    "listener": Listener,
    "llm": llm,
    "micro": Micro,
    "mixed_thresholds": MixedThresholds,
    "mixture": mixture,
    "naive_tit_for_tat": NaiveTitForTat,
    "nash_seeker": NashSeeker,
    "negmas": NegMASPartner,
    "nice": Nice,
    "nice_tit_for_tat": NiceTitForTat,
    "personas": Personas,
    "prosocial": Prosocial,
    "punisher": Punisher,
    "pushover": Pushover,
    "quantal_response": QuantalResponse,
    "random": Random,
    "rollouts": Rollouts,
    "similarity": Similarity,
    "sniper": Sniper,
    "social_value": SocialValue,
    "stubborn": Stubborn,
    "tough": Tough,
    "trembling": Trembling,
    "ultimatum": Ultimatum,
    "versatile": Versatile,
    "zeuthen": Zeuthen,
}
