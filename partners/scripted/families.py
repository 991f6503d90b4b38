"""The families of scripted partners, and the values that each of their parameters may be drawn from.

Rosters are drawn from this table (:mod:`partners.rosters`). Any combination of one value a parameter makes a partner.
Steps are coarse, so that two neighbours play differently, and every default is among the values.
"""

from __future__ import annotations

Value = int | float | str

FAMILIES: dict[str, dict[str, tuple[Value, ...]]] = {
    "boulware": {"exponent": (2.0, 4.0, 8.0), "floor": (0.3, 0.4, 0.5, 0.6, 0.7)},
    "conceder": {"exponent": (0.1, 0.25, 0.5), "floor": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)},
    "concession_rule": {"target": (6.0, 7.0, 8.0, 9.0, 10.0), "bottom": (2.0, 3.0, 4.0, 5.0, 6.0)},
    "first_acceptable_offer": {"tau": (3.0, 4.0, 5.0, 6.0, 7.0, 8.0)},
    "heuristic": {
        "accept_ratio": (0.4, 0.55, 0.7, 0.85, 1.0),
        "insist_ratio": (0.3, 0.5, 0.7, 0.9),
        "demand": (0.6, 0.7, 0.8, 0.9, 1.0),
    },
    "hybrid": {"opening": (0.9, 1.0), "middle": (0.6, 0.75, 0.9), "closing": (0.4, 0.6, 0.8)},
    "linear": {"exponent": (0.7, 1.0, 1.4), "floor": (0.2, 0.35, 0.5, 0.6, 0.75)},
    "micro": {},
    "naive_tit_for_tat": {"kindness": (0.0, 0.1, 0.2, 0.3)},
    "nash_seeker": {"rationality": (0.0, 4.0, 8.0, 16.0)},
    "nice": {},
    "nice_tit_for_tat": {"rationality": (0.0, 4.0, 8.0, 16.0)},
    "prosocial": {"rationality": (0.0, 4.0, 8.0, 16.0)},
    "pushover": {"demand": (0.15, 0.25, 0.4, 0.5, 0.6, 0.7)},
    "random": {},
    "stubborn": {"demand": (0.7, 0.8, 0.9, 1.0), "floor": (0.3, 0.5, 0.6, 0.7, 0.8), "late": (1, 3, 5, 7)},
    "tough": {},
    "ultimatum": {},
    "versatile": {"accept_ratio": (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)},
}
