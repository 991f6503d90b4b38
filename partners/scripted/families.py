"""The families of scripted partners, and the values that each of their parameters may be drawn from.

Rosters are drawn from this table (:mod:`partners.rosters`). Any combination of one value a parameter makes a partner.
Steps are coarse, so that two neighbours play differently, and every default is among the values.
"""

from __future__ import annotations

Value = int | float | str

FAMILIES: dict[str, dict[str, tuple[Value, ...]]] = {
    "aspiration_adaptation": {"start": (0.8, 0.9, 1.0), "step": (0.05, 0.1, 0.2), "floor": (0.2, 0.3, 0.5, 0.6)},
    "bluffer": {"pace": (1, 2, 3), "floor": (0.3, 0.45, 0.6, 0.75)},
    "boulware": {"exponent": (2.0, 4.0, 8.0), "floor": (0.3, 0.4, 0.5, 0.6, 0.7)},
    "conceder": {"exponent": (0.1, 0.25, 0.5), "floor": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)},
    "concession_rule": {"target": (6.0, 7.0, 8.0, 9.0, 10.0), "bottom": (2.0, 3.0, 4.0, 5.0, 6.0)},
    "first_acceptable_offer": {"tau": (3.0, 4.0, 5.0, 6.0, 7.0, 8.0)},
    "frequency_model": {
        "exponent": (0.5, 1.0, 2.0, 4.0),
        "floor": (0.4, 0.5, 0.6, 0.7),
        "slack": (0.1, 0.15, 0.25),
        "learning": (1, 3, 10),
    },
    "heuristic": {
        "accept_ratio": (0.4, 0.55, 0.7, 0.85, 1.0),
        "insist_ratio": (0.3, 0.5, 0.7, 0.9),
        "demand": (0.6, 0.7, 0.8, 0.9, 1.0),
    },
    "hybrid": {"opening": (0.9, 1.0), "middle": (0.6, 0.75, 0.9), "closing": (0.4, 0.6, 0.8)},
    "inequity_averse": {
        "alpha": (0.8, 1.0, 2.0, 4.0),
        "beta": (0.0, 0.25, 0.6, 0.8),
        "rationality": (0.0, 4.0, 8.0, 16.0),
    },
    "level_k": {"level": (1, 2, 3, 4), "tau": (0.5, 1.5, 4.0)},
    "linear": {"exponent": (0.7, 1.0, 1.4), "floor": (0.2, 0.35, 0.5, 0.6, 0.75)},
    "micro": {},
    "mixed_thresholds": {"low": (0.1, 0.3, 0.5), "high": (0.6, 0.8, 1.0), "ask": (0.3, 0.5, 0.7)},
    "naive_tit_for_tat": {"kindness": (0.0, 0.1, 0.2, 0.3)},
    "nash_seeker": {"rationality": (0.0, 4.0, 8.0, 16.0)},
    "nice": {},
    "nice_tit_for_tat": {"rationality": (0.0, 4.0, 8.0, 16.0)},
    "personas": {
        "eager": (0.1, 0.25, 0.5),
        "patient": (1.0, 4.0, 10.0),
        "low": (0.0, 0.2, 0.4),
        "high": (0.6, 0.8, 1.0),
    },
    "prosocial": {"rationality": (0.0, 4.0, 8.0, 16.0)},
    "punisher": {"fair": (0.5, 0.6, 0.7, 0.8), "insult": (0.2, 0.3, 0.4), "patience": (0, 1, 2)},
    "pushover": {"demand": (0.15, 0.25, 0.4, 0.5, 0.6, 0.7)},
    "quantal_response": {"rationality": (5.0, 10.0, 15.0, 30.0), "hope": (0.0, 0.15, 0.3, 0.5)},
    "random": {},
    "similarity": {"exponent": (0.3, 1.0, 3.0), "floor": (0.3, 0.5, 0.7), "slack": (0.0, 0.1, 0.2)},
    "sniper": {"patience": (1.0, 3.0, 6.0), "fair": (0.3, 0.4, 0.5, 0.6, 0.7)},
    "social_value": {
        "angle": (-30.0, -10.0, 15.0, 30.0, 50.0, 65.0),
        "accept_ratio": (0.5, 0.65, 0.8, 0.9),
        "rationality": (0.0, 4.0, 8.0, 16.0),
    },
    "stubborn": {"demand": (0.7, 0.8, 0.9, 1.0), "floor": (0.3, 0.5, 0.6, 0.7, 0.8), "late": (1, 3, 5, 7)},
    "tough": {},
    "trembling": {"of": ("heuristic", "linear", "nash_seeker", "prosocial", "stubborn"), "rate": (0.05, 0.1, 0.2, 0.3)},
    "ultimatum": {},
    "versatile": {"accept_ratio": (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)},
    "zeuthen": {"rationality": (0.0, 4.0, 8.0, 16.0)},
}
