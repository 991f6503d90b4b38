"""Generated partners: one interpreter of bargaining programs whose dials are drawn anew for every game.

A program is a number below 2**53; each of its dials is a function of that number and the dial's place in :data:`DIALS`
alone. :class:`Generated` reads the dials of B programs as columns, so that thousands of different programs cost one
call. The parts are those of automated negotiators (Baarslag et al. 2014, *Decoupling negotiating agents to explore the
space of negotiation strategies*): demands, choice among equally good splits, a model of the other seat, acceptance; and
reactions, mistakes and endings that experiments with people report.

::

    game noise ──> program ──> dials [B]
                                 │ demands, reactions      │ choice, model            │ acceptance, ending, emphasis
                                 v                         v                          v
                         aspiration [B] of the whole ──> claim [B, 3] ──> AGREE, PROPOSE, INSIST, END or a mistake
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import MAX_VALUE, Act
from dond_marl.occupants import Spec, read_spec
from dond_marl.seats import Bools, Decisions, Doubles, Int8s, Traits, Turns, are_offers, decide, worth
from partners.parameters import check_choice, check_whole_number
from partners.scripted.menu import Menu, first_best, menu, splits_at
from partners.scripted.offers import (
    Claims,
    Points,
    has_offer,
    own_claims,
    own_turn,
    partner_claims,
    points_needed,
    pool_worth,
    progress,
    worth_left,
)

PROGRAMS = 1 << 53  # programs; a uniform number of a game has as many values
LEVELS = 1 << 12  # values of a dial
TOLERANCE = 1e-9  # of shares
_SHARE = 1 << 12  # the whole of a share in scores
_POINTS = 1 << 9  # more than the points of any pool


class Dial(NamedTuple):
    """A parameter of a program: with each ``(probability, low, high)`` of ``pieces`` it is uniform in low..high."""

    name: str
    group: str
    pieces: tuple[tuple[float, float, float], ...]
    neutral: float  # its value where its group is left out
    source: str


def _choice(*numbers: float) -> tuple[tuple[float, float, float], ...]:
    return tuple((1 / len(numbers), number, number) for number in numbers)


def _sometimes(probability: float, low: float, high: float) -> tuple[tuple[float, float, float], ...]:
    """0, or with ``probability`` uniform in low..high."""
    return ((1 - probability, 0.0, 0.0), (probability, low, high))


_COUNT, _EVEN, _MIRROR, _COMPLEMENT = range(4)  # models of what the other seat wants; even: all types alike
_CHOICES = _WORST, _FEWEST, _KINDEST, _NEAREST, _FAIREST, _BEST, _WHOLE_TYPES = range(7)  # among equally good splits
_NEXT, _CONSTANT, _PATH, _COMBINED = range(4)  # rules of acceptance
_FIRST, _PREVIOUS, _MEAN = range(3)  # what a concession is measured from
_TRUE, _ROUNDED, _COUNTED, _BIASED = range(4)  # perceptions of the own values
NEVER_INSISTS = 99
_INSIST = np.int8(Act.INSIST)

DIALS = (
    # Demands: shares of the perceived whole.
    Dial("start", "demands", ((0.8, 0.7, 1.0), (0.2, 0.5, 0.7)), 1.0, "openings of people in the train split"),
    Dial("end", "demands", ((0.7, 0.1, 0.9), (0.3, 0.85, 1.0)), 0.5, "Faratin, Sierra, Jennings 1998"),
    Dial("exponent", "demands", ((0.25, 0.1, 0.7), (0.35, 0.7, 2.0), (0.4, 2.0, 8.0)), 1.0, "Faratin et al. 1998"),
    Dial("plateau", "demands", _sometimes(0.3, 0.2, 0.7), 0.0, "Roth, Murnighan, Schoumaker 1988 (deadlines)"),
    Dial("steps", "demands", ((0.6, 0, 0), (0.2, 2, 2), (0.2, 3, 3)), 0.0, "Baarslag 2016, section 3.3"),
    Dial("hold", "demands", ((0.7, 1, 1), (0.2, 2, 2), (0.1, 3, 3)), 1.0, "Komorita, Esser 1975"),
    Dial("fold", "demands", ((0.75, 1, 1), (0.25, 0.0, 1.0)), 1.0, "Roth et al. 1988 (last-minute concessions)"),
    # Reactions to what the other seat does.
    Dial("reciprocity", "reactions", _sometimes(0.5, 0.2, 1.0), 0.0, "Axelrod 1984; Faratin et al. 1998"),
    Dial("reference", "reactions", _choice(_FIRST, _PREVIOUS, _MEAN), 0.0, "Faratin et al. 1998 (behaviour-dependent)"),
    Dial("firmness", "reactions", _sometimes(0.35, 0.1, 0.6), 0.0, "Komorita, Esser 1975"),
    Dial("yielding", "reactions", ((0.7, 0, 0), (0.2, 0.05, 0.3), (0.1, -0.2, 0.0)), 0.0, "Sinaceur, Neale 2005"),
    # Choice among splits that are as good, and the model of the other seat's values in it.
    Dial("slack", "choice", ((0.3, 0, 0), (0.7, 0.02, 0.2)), 0.0, "Faratin, Sierra, Jennings 2002"),
    Dial("choice", "choice", _choice(*_CHOICES), 0.0, "Faratin et al. 2002; Baarslag 2016, section 3.3"),
    Dial("model", "choice", _choice(*range(4)), 1.0, "Thompson, Hastie 1990 (fixed-pie belief)"),
    Dial("learning", "choice", ((0.5, 1, 1), (0.5, 1, 8)), 3.0, "van Krimpen et al. 2013 (HardHeaded)"),
    # Acceptance.
    Dial("acceptance", "acceptance", _choice(*range(4)), 0.0, "Baarslag, Hindriks, Jonker 2013"),
    Dial("level", "acceptance", ((1.0, 0.3, 0.95),), 0.7, "Baarslag et al. 2013, AC_const"),
    Dial(
        "ease", "acceptance", ((0.5, 0, 0), (0.35, 0.0, 0.15), (0.15, -0.1, 0.0)), 0.0, "Baarslag et al. 2013, AC_next"
    ),
    Dial("pressed", "acceptance", _sometimes(0.25, 0.03, 0.25), 0.0, "Sinaceur, Neale 2005 (implied threats)"),
    Dial(
        "reserve",
        "acceptance",
        ((0.5, 1, 1), (0.3, 0.0, 1.0), (0.2, 0.0, 0.2)),
        1.0,
        "Güth, Schmittberger, Schwarze 1982",
    ),
    # Perception of the own values, and what the other seat is thought to get.
    Dial(
        "perception", "perception", ((0.65, 0, 0), (0.15, 1, 1), (0.1, 2, 2), (0.1, 3, 3)), 0.0, "Bazerman, Neale 1983"
    ),
    Dial("biased", "perception", _choice(0, 1, 2), 0.0, "O'Connor, Carnevale 1997"),
    Dial("envy", "perception", _sometimes(0.2, 0.05, 0.5), 0.0, "Fehr, Schmidt 1999"),
    # Endings.
    Dial("patience", "ending", ((0.8, 0, 0), (0.2, 2, 5)), 0.0, "walking away in the train split"),
    Dial("contempt", "ending", ((1.0, 0.05, 0.4),), 0.0, "Camerer 2003, chapter 2"),
    Dial("closing", "ending", ((0.8, 0, 0), (0.2, 1, 1)), 0.0, "walking away in the train split"),
    # Emphasis: INSIST instead of PROPOSE after so many turns with the same claim.
    Dial(
        "emphasis",
        "emphasis",
        ((0.35, 99, 99), (0.1, 0, 0), (0.3, 1, 1), (0.25, 2, 2)),
        99.0,
        "Schelling 1960 (commitment)",
    ),
    # Mistakes.
    Dial("slip", "mistakes", _sometimes(0.2, 0.02, 0.15), 0.0, "Selten 1975 (trembles)"),
    Dial("jitter", "mistakes", _sometimes(0.3, 0.02, 0.15), 0.0, "McKelvey, Palfrey 1995"),
)
_VALUES = np.arange(MAX_VALUE + 1)
_PERCEIVED = np.array(  # what each value seems to be, by perception
    [
        _VALUES,
        np.select([_VALUES >= 4, _VALUES > 0], [6, 2]),
        np.ones_like(_VALUES),
        np.minimum(_VALUES * 2, MAX_VALUE),
    ],
    np.int8,
)
_STEPS = np.arange(1, len(DIALS) + 1, dtype=np.uint32) * np.uint32(0x9E3779B9)  # one a dial, as in SplitMix
GROUPS = tuple(dict.fromkeys(dial.group for dial in DIALS))
Dials = dict[str, Doubles]


def _levels() -> Doubles:
    """The value of every dial at each of :data:`LEVELS` equally likely levels, ``[D, LEVELS]``."""
    uniform = (np.arange(LEVELS) + 0.5) / LEVELS
    table = np.empty((len(DIALS), LEVELS))
    for row, dial in enumerate(DIALS):
        chances, low, high = (np.array(column) for column in zip(*dial.pieces, strict=True))
        begins = np.cumsum(chances) - chances
        piece = np.searchsorted(begins, uniform, side="right") - 1
        table[row] = low[piece] + (high - low)[piece] * (uniform - begins[piece]) / chances[piece]
    return table


_LEVELS = _levels()
_ROWS = np.arange(len(DIALS), dtype=np.uint32)[:, None] * np.uint32(LEVELS)  # where each dial's levels begin


def dials_of(programs: NDArray[np.uint64], without: str = "") -> Dials:
    """The dials of ``programs[B]``, each ``[B]``; those of the group ``without`` are at their neutral values."""
    level = _mix_32(_mix_64(programs).astype(np.uint32) + _STEPS[:, None])  # [D, B]
    level >>= np.uint32(32 - LEVELS.bit_length() + 1)
    level += _ROWS
    values = _LEVELS.take(level, mode="clip")  # which is faster than checking that they are all inside
    dials = {dial.name: value for dial, value in zip(DIALS, values, strict=True)}
    dials |= {dial.name: np.full(programs.shape, dial.neutral) for dial in DIALS if dial.group == without}
    dials["end"] = np.minimum(dials["end"], dials["start"])
    return dials


def _dials_of_one(program: int, without: str = "") -> dict[str, float]:
    dials = dials_of(np.array([program], dtype=np.uint64), without)
    return {name: float(value[0]) for name, value in dials.items()}


def digest_of(program: int) -> str:
    """SHA-256 of the program's dials in readable form, 16 hexadecimal digits: other dials, another digest."""
    text = " ".join(f"{name}={value:.6g}" for name, value in _dials_of_one(program).items())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_ANY = 1e9
_POSITIVE = (1e-9, _ANY)
_AMONG = "of offers that are about as good to it, makes "
# What a program does: each phrase with the ranges low <= dial < high in which it holds.
# "range" is the difference of start and end.
PHRASES: tuple[tuple[str, dict[str, tuple[float, float]]], ...] = (
    ("asks for {start} of its whole value at first", {}),
    ("hardly concedes", {"range": (0, 0.1)}),
    ("concedes early, down to {end}", {"range": (0.1, 1), "exponent": (0, 0.7)}),
    ("concedes steadily, down to {end}", {"range": (0.1, 1), "exponent": (0.7, 2)}),
    ("concedes late, down to {end}", {"range": (0.1, 1), "exponent": (2, _ANY)}),
    ("concedes nothing in the first {plateau} of its time", {"plateau": _POSITIVE}),
    ("concedes in {steps} steps", {"steps": _POSITIVE}),
    ("keeps each demand for {hold} of its turns", {"hold": (2, _ANY)}),
    ("gives in a little at its last turn", {"fold": (0.6, 1)}),
    ("folds at its last turn", {"fold": (0, 0.6)}),
    ("repays {reciprocity} of what it is given", {"reciprocity": _POSITIVE}),
    ("concedes less to a partner that does not move", {"firmness": _POSITIVE}),
    ("concedes when its partner insists", {"yielding": _POSITIVE}),
    ("hardens when its partner insists", {"yielding": (-1, 0)}),
    (_AMONG + "the one worth least to it", {"choice": (_WORST, _WORST + 1)}),
    (_AMONG + "the one with the fewest items", {"choice": (_FEWEST, _FEWEST + 1)}),
    (_AMONG + "the one that seems best for its partner", {"choice": (_KINDEST, _KINDEST + 1)}),
    (_AMONG + "the one nearest to its partner's last offer", {"choice": (_NEAREST, _NEAREST + 1)}),
    (_AMONG + "the one that seems fairest", {"choice": (_FAIREST, _FAIREST + 1)}),
    (_AMONG + "the one worth most to it", {"choice": (_BEST, _BEST + 1)}),
    (_AMONG + "one that divides no type of item", {"choice": (_WHOLE_TYPES, _WHOLE_TYPES + 1)}),
    ("accepts what is worth as much as its next demand", {"acceptance": (_NEXT, _NEXT + 1)}),
    ("accepts {level} of its whole value", {"acceptance": (_CONSTANT, _CONSTANT + 1)}),
    ("accepts what it aims for at that time", {"acceptance": (_PATH, _PATH + 1)}),
    (
        "accepts what it aims for at that time or, late, the best offer so far",
        {"acceptance": (_COMBINED, _COMBINED + 1)},
    ),
    ("accepts less when its partner insists", {"pressed": _POSITIVE}),
    ("accepts less in its last answer", {"reserve": (0, 1)}),
    ("refuses where its partner would get much more", {"envy": _POSITIVE}),
    ("knows its values only roughly", {"perception": (_ROUNDED, _ROUNDED + 1)}),
    ("counts items instead of their values", {"perception": (_COUNTED, _COUNTED + 1)}),
    ("overrates one type of item", {"perception": (_BIASED, _BIASED + 1)}),
    ("walks away from offers below {contempt}", {"patience": _POSITIVE}),
    ("ends the game instead of a last offer", {"closing": _POSITIVE}),
    ("insists on what it repeats", {"emphasis": (1, NEVER_INSISTS)}),
    ("always insists", {"emphasis": (0, 1)}),
    ("makes a random offer in {slip} of its turns", {"slip": _POSITIVE}),
    ("wavers in what it asks for", {"jitter": _POSITIVE}),
)


def describe(program: int, without: str = "") -> str:
    """The behaviour of a program, in phrases; shares are of the whole pool's value to it."""
    dials = _dials_of_one(program, without)
    dials["range"] = dials["start"] - dials["end"]
    holding = (text for text, when in PHRASES if all(low <= dials[name] < high for name, (low, high) in when.items()))
    numbers = {name: f"{value:.0%}" if value <= 1 else f"{value:.0f}" for name, value in dials.items()}
    return "; ".join(text.format_map(numbers) for text in holding)


def describe_spec(spec: str | None) -> str:
    """A generated occupant in words; empty for every other occupant, and where the parameters are no legal ones."""
    occupant = _read_spec(spec)
    if occupant is None:
        return ""
    if occupant.program is not None:
        return describe(occupant.program, occupant.without)
    number = occupant.programs
    drawn = f"one of {number:,} generated programs" if number else "a new generated program"
    return f"{drawn} each game" + (f", the dials of {occupant.without} neutral" if occupant.without else "")


def nickname(spec: str | None) -> str:
    """A short name of one program for people, ``Late conceder 8091``; empty for every other occupant.

    The number is the program's first four digits, so two programs can share a nickname.
    """
    occupant = _read_spec(spec)
    if occupant is None or occupant.program is None:
        return ""
    dials = _dials_of_one(occupant.program, occupant.without)
    exponent = dials["exponent"]
    pace = "Early" if exponent < 0.7 else "Steady" if exponent < 2 else "Late"
    kind = "Hard bargainer" if dials["start"] - dials["end"] < 0.1 else f"{pace} conceder"
    return f"{kind} {str(occupant.program)[:4]}"


def name_programs(name: str, noise: Doubles) -> list[str]:
    """The program that occupant ``name`` plays in each game, by the first of the game's ``noise[B]``, as a name.

    An occupant that draws no program keeps its name.
    """
    occupant = _read_spec(name)
    if occupant is None or occupant.program is not None:
        return [name] * len(noise)
    return [occupant.play_program(number).name for number in occupant.draw_programs(noise).tolist()]


def _read_spec(name: str | None) -> Generated | None:
    """The generated occupant that a member, a record or a player is called by, if it is one."""
    spec = None if name is None else read_spec(name)
    try:
        return Generated(**spec.parameters) if spec is not None and spec.kind == "generated" else None
    except (TypeError, ValueError):
        return None


def _mix_32(numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The finaliser of MurmurHash3 for 32 bits (Appleby 2011), whose arithmetic wraps at 2**32."""
    numbers = numbers ^ (numbers >> np.uint32(16))
    numbers *= np.uint32(0x85EBCA6B)
    numbers ^= numbers >> np.uint32(13)
    numbers *= np.uint32(0xC2B2AE35)
    numbers ^= numbers >> np.uint32(16)
    return numbers


def _mix_64(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea, Flood 2014), whose arithmetic wraps at 2**64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


@dataclass(frozen=True)
class Generated:
    """Plays another bargaining program in every game, or always ``program``.

    Source: domain randomisation (Tobin et al. 2017, arXiv 1703.06907) over the parts of automated negotiators (Baarslag
    et al. 2014). Each program asks for a falling share of its whole value, reacts to what its partner concedes, chooses
    among equally good splits by a model of its partner, and accepts, insists, errs and walks away in its own way; a
    program is drawn for each game from its game's noise.

    - ``program``: 0..9007199254740991, one program for all games; without it, one is drawn for every game.
    - ``programs``: 1..9007199254740992, how many fixed programs a game draws from; without it, from all of them.
    - ``digest``: 16 hexadecimal digits of the program's dials; refused where a version has other dials.
    - ``without``: one of demands, reactions, choice, acceptance, perception, ending, emphasis and mistakes: a group of
      dials that stay at neutral values.
    """

    program: int | None = None
    digest: str | None = None
    without: str = ""
    programs: int | None = None

    def __post_init__(self) -> None:
        if self.without:
            check_choice("without", self.without, GROUPS)
        if self.programs is not None:
            check_whole_number("programs", self.programs, 1, PROGRAMS)
        if self.program is None:
            if self.digest is not None:
                raise ValueError("a digest is of one program: give program=NUMBER as well")
            return
        if self.programs is not None:
            raise ValueError("give program=NUMBER for one program, or programs=NUMBER to draw among so many, not both")
        check_whole_number("program", self.program, 0, PROGRAMS - 1)
        if self.digest is not None and self.digest != digest_of(self.program):
            raise ValueError(
                f"program {self.program} has other dials in this version: digest {digest_of(self.program)}"
            )

    @property
    def name(self) -> str:
        """The occupant as it is typed, such as ``generated(program=5)``."""
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        changed = {name: value for name, value in settings.items() if value not in (None, "")}
        return Spec("generated", changed).text

    def play_program(self, number: int) -> Generated:
        """The occupant that plays program ``number`` only, with the same group of neutral dials."""
        return Generated(number, without=self.without)

    @property
    def traits(self) -> Traits:
        """Traits of a fixed program follow from its dials; a drawn program counts as stochastic and with memory."""
        if self.program is None:
            return Traits()
        dials = _dials_of_one(self.program, self.without)
        remembers = (
            dials["reciprocity"] > 0
            or dials["firmness"] > 0
            or dials["acceptance"] == _COMBINED
            or dials["model"] == _COUNT
            or dials["patience"] > 0
            or dials["emphasis"] not in (0, NEVER_INSISTS)
        )
        return Traits(deterministic=dials["slip"] == dials["jitter"] == 0, memoryless=not remembers)

    def _dials(self, turns: Turns) -> Dials:
        if self.program is None:
            return dials_of(self.draw_programs(turns.game_noise[:, 0]), self.without)
        return {name: np.full(turns.size, value) for name, value in _dials_of_one(self.program, self.without).items()}

    def draw_programs(self, noise: Doubles) -> NDArray[np.uint64]:
        """The programs of games with this ``noise[B]``, the first of a game's noise, in 0..1."""
        if self.programs is None:
            return (noise * PROGRAMS).astype(np.uint64)
        return _mix_64((noise * self.programs).astype(np.uint64) + np.uint64(1)) % np.uint64(PROGRAMS)

    def act(self, turns: Turns) -> Decisions:
        dials = self._dials(turns)
        perceived = turns._replace(my_utilities=_perceived_values(turns, dials))
        claims, wholes = partner_claims(perceived), pool_worth(perceived)
        past = worth_left(perceived, claims) / np.maximum(wholes, 1)  # [H, B] shares offered, negative without an offer
        model = _model(perceived, dials, claims)
        aspiration = _aspiration(perceived, dials, past)
        splits = menu(perceived)
        claim = _claim(perceived, dials, splits, wholes, model, aspiration)
        share = worth(perceived.my_utilities, claim) / np.maximum(wholes, 1)
        accept = _accepts(perceived, dials, past, model, aspiration, share)
        leaves = _leaves(perceived, dials, past)
        act = np.where(_repeats(perceived, claim) >= dials["emphasis"], _INSIST, np.int8(Act.PROPOSE))
        slips = np.flatnonzero(turns.noise[:, 0] < dials["slip"])  # none where there is no noise
        split = (turns.noise[slips, 1] * splits.fits[:, slips].sum(axis=0)).astype(np.int64)
        claim[slips] = splits.items[:, split, slips].T
        accept[slips] = leaves[slips] = False
        act = np.where(leaves, np.int8(Act.END), np.where(accept, np.int8(Act.AGREE), act))
        return decide(act, (claim.T * are_offers(act)).T)


def _perceived_values(turns: Turns, dials: Dials) -> Int8s:
    """The values that the program goes by, ``[B, 3]``: true, rounded to two levels, 1 for each item, or one doubled."""
    types = np.arange(3)[:, None]
    true = (dials["perception"] == _BIASED) & (dials["biased"] != types)  # two of three types are seen as they are
    kind = np.where(true, _TRUE, dials["perception"]).astype(np.int16)
    return _PERCEIVED.take(kind * (MAX_VALUE + 1) + turns.my_utilities.T).T


def _aspiration(turns: Turns, dials: Dials, past: Doubles) -> Doubles:
    """The share of the perceived whole that each program wants now, ``[B]``."""
    time, number = progress(turns), own_turn(turns)
    held = np.floor(number / dials["hold"]) * dials["hold"]
    t = time if time >= 1 or number == 0 else time * held / number
    t = np.clip((t - dials["plateau"]) / (1 - dials["plateau"]), 0, 1)
    steps = np.maximum(dials["steps"], 1)
    t = np.where(dials["steps"] > 0, np.floor(t * steps) / steps, t)
    share = dials["start"] - (dials["start"] - dials["end"]) * t ** dials["exponent"]
    if time >= 1:
        share = share * dials["fold"]
    conceded, latest, before = _concessions(past, dials["reference"])
    share = share - dials["reciprocity"] * conceded
    share = share + dials["firmness"] * (dials["start"] - share) * ((before >= 0) & (latest <= before))
    share = share - dials["yielding"] * (turns.last_partner_act == _INSIST)
    shaken = (turns.noise[:, 2] * 2 - 1) * dials["jitter"]
    share = share + np.where(dials["jitter"] > 0, shaken, 0.0)  # a deterministic program has no noise
    aspiration: Doubles = np.clip(share, 0.0, 1.0)
    return aspiration


def _concessions(past: Doubles, reference: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """The concession of the other seat since its ``reference[B]``, at least 0; its latest offer and the one before.

    Shares of the whole, ``[B]``; an offer that was not made is -1.
    """
    has_offer = past >= 0
    first = before = latest = np.full(past.shape[-1], -1.0)
    for share, is_made in zip(past, has_offer, strict=True):
        before, latest = np.where(is_made, latest, before), np.where(is_made, share, latest)
    for share, is_made in zip(past[::-1], has_offer[::-1], strict=True):
        first = np.where(is_made, share, first)
    mean = np.maximum(past, 0).sum(axis=0) / np.maximum(has_offer.sum(axis=0, dtype=np.int16), 1)
    since = np.where(reference == _FIRST, first, np.where(reference == _PREVIOUS, before, mean))
    conceded = np.where((before >= 0) & (since >= 0), latest - since, 0.0)
    return np.maximum(conceded, 0.0), latest, before


def _claim(turns: Turns, dials: Dials, splits: Menu, wholes: Points, model: Doubles, aspiration: Doubles) -> Int8s:
    """The favourite of the splits that are about as good as the aspiration, ``[B, 3]``; of equals the cheapest."""
    points, enough = splits.points, points_needed(aspiration, wholes)
    short = ~splits.fits | (points < enough)
    least = np.minimum((points + _beyond(short, _POINTS)).min(axis=0), wholes)
    most = np.maximum(least, enough + (dials["slack"] * wholes).astype(np.int32))
    score = _scores(turns, dials["choice"], splits, wholes, model)
    score *= _POINTS
    score -= points
    score -= _beyond(short | (points > most), 1 << 30)
    return splits_at(splits, first_best(score))


def _beyond(where: Bools, number: int) -> NDArray[np.int32]:
    """The ``number`` in ``where[N, B]`` and 0 elsewhere; ``np.where`` is several times as slow on irregular masks."""
    return where * np.int32(number)


def _scores(turns: Turns, choice: Doubles, splits: Menu, wholes: Points, model: Doubles) -> NDArray[np.int32]:
    """The score of each split by each game's rule of ``choice[B]``, ``[N, B]``, less than 2**19.

    Most rules are a weight for each item that is kept, or, for the split nearest to the other seat's latest offer, for
    each item between the two.
    """
    values = turns.my_utilities.T
    weights = -(model * _SHARE).astype(np.int32)  # [3, B] by the value to the other seat
    weights = np.where(choice == _BEST, values, np.where(choice == _WORST, -values, weights))
    weights[:, choice == _FEWEST] = -1
    distance = splits.items - np.where(choice == _NEAREST, turns.last_partner_offer_for_me.T, np.int8(0))[:, None]
    np.abs(distance, out=distance)
    score: NDArray[np.int32] = np.einsum("inb,ib->nb", distance, weights)
    rows = np.flatnonzero(choice == _FAIREST)
    if rows.size:
        # A quotient of two numbers this small is never rounded up to the next whole number.
        own_share = (splits.points.take(rows, axis=1) * float(_SHARE) / np.maximum(wholes[rows], 1)).astype(np.int32)
        score[:, rows] = np.minimum(own_share, _SHARE + score.take(rows, axis=1))
    rows = np.flatnonzero(choice == _WHOLE_TYPES)
    if rows.size:
        items = splits.items.take(rows, axis=2)
        divided = ((items > 0) & (items < turns.counts[rows].T[:, None])).view(np.int8)
        score[:, rows] = -(divided[0] + divided[1] + divided[2])
    return score


def _model(turns: Turns, dials: Dials, claims: Claims) -> Doubles:
    """The program's model of the other seat: the value of one item of each type, ``[3, B]`` shares of its pool."""
    counts, own_values, kind = turns.counts.T, turns.my_utilities.T, dials["model"]
    weights = np.where(kind == _MIRROR, own_values, own_values.max(axis=0) - own_values) + 0.01
    weights = np.where(kind == _EVEN, 1 / np.maximum(counts, 1), weights)
    weights = np.where(kind == _COUNT, 1 + dials["learning"] * claims.totals() / np.maximum(counts, 1), weights)
    pool_value = weights[0] * counts[0] + weights[1] * counts[1] + weights[2] * counts[2]
    shares: Doubles = weights / np.maximum(pool_value, 0.01)
    return shares


def _accepts(turns: Turns, dials: Dials, past: Doubles, model: Doubles, aspiration: Doubles, claimed: Doubles) -> Bools:
    """Whether the offer on the table is good enough, ``[B]``; ``claimed[B]``: the share of the claim instead."""
    offered = past[-1] if len(past) else np.full(turns.size, -1.0)
    best = past[:-1].max(axis=0, initial=-1.0) if len(past) else offered
    late = progress(turns) >= 0.5
    combined = np.where(late & (best >= 0), np.minimum(aspiration, best), aspiration)
    rule = dials["acceptance"]
    enough = np.where(rule == _COMBINED, combined, np.where(rule == _PATH, aspiration, claimed))
    enough = np.where(rule == _CONSTANT, dials["level"], enough)
    other = ((turns.counts - turns.last_partner_offer_for_me).T * model).sum(axis=0)
    offered = offered - dials["envy"] * np.maximum(other - offered, 0)
    enough = enough - dials["ease"] - dials["pressed"] * (turns.last_partner_act == _INSIST)
    if turns.turns_taken >= turns.rules.max_turns - 2:  # its last answer
        enough = enough * dials["reserve"]
    accepts: Bools = has_offer(turns) & (offered >= enough - TOLERANCE)
    return accepts


def _repeats(turns: Turns, claim: Int8s) -> NDArray[np.int64]:
    """The number of the seat's latest turns that made this claim, ``[B]``."""
    claims = own_claims(turns)
    same = claims.has_claim & (claims.oA == claim.T).all(axis=1)  # [H, B]
    repeats: NDArray[np.int64] = np.logical_and.accumulate(same[::-1], axis=0).sum(axis=0)
    return repeats


def _leaves(turns: Turns, dials: Dials, past: Doubles) -> Bools:
    """Whether the program ends the talk, ``[B]``: its patience is over, or nothing is left to say."""
    latest = past[-1] if len(past) else np.full(turns.size, -1.0)
    bored = (dials["patience"] > 0) & (own_turn(turns) >= dials["patience"]) & (latest < dials["contempt"])
    last = turns.turns_taken == turns.rules.max_turns - 1
    leaves: Bools = bored | (last & (dials["closing"] > 0))
    return leaves
