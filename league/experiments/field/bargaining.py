"""OpenSpiel's players and ours at one table: in its ``bargaining``, and in this game as one of its games.

OpenSpiel's side is information-set Monte Carlo tree search (Cowling et al. 2012) with random playouts, as its example
``nego_nbs_example.py`` sets it, chance, and the *full-information oracle* of that example: player 0 sees both values
and offers the split with the largest product, which player 1 takes. Ours are occupants of the catalogue. Who searches
is given the same budget: simulated games a decision. Everybody plays everybody in both seats on the same instances.
All games are a function of their instance and seats but those of OpenSpiel's search in C++ (in ``bargaining``), which
plays otherwise whenever it is asked, whatever its seed. Needs the package ``open_spiel``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from dond_marl.errors import InputError
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.seats import Partner
from dond_marl.yardsticks.metrics import Estimate, mean_of
from league.experiments.kept import made_now, place, read, write
from league.tables.figures import with_interval
from partners.provenance import identity

OURS, THEIRS = "deal_or_no_dialog", "bargaining"
GAMES = (THEIRS, OURS)
CHANCE, ORACLE, SEARCH = "uniform", "full_information", "is_mcts"
EXPLORATION = 10.0  # of its tree search, as in the example
LARGEST_SEED = 2**31 - 1
CONFIDENCE = 0.95
DIGITS = 4


class Says(Protocol):
    """Somebody at one table: the number of an act for a state of OpenSpiel."""

    def __call__(self, state: Any) -> int: ...


class Row(NamedTuple):
    """One player against another on the first instances, in both seats of the first."""

    game: str
    who: str
    against: str
    games: int
    points: list[float]  # own, one entry per game
    left: list[float]
    date: str | None = None  # when it was played; None where that was not written down
    versions: dict[str, str | None] | None = None  # of what it was played with

    @property
    def deals(self) -> float:
        """Share of games in which somebody got something."""
        return float(np.mean(np.array(self.points) + self.left > 0))

    @property
    def nash(self) -> float:
        """The product of both mean points, which the example prints."""
        return float(np.mean(self.points) * np.mean(self.left))


class Guests(Protocol):
    """Players that are made for a table, both seats of each."""

    names: tuple[str, ...]
    what: dict[str, Any]  # all that they are a function of, as plain values

    def sit(self, table: Table) -> None:
        """Put into the table's ``guests`` who says what, by name: a function of the game's seed and the seat."""


def perform(
    specs: Sequence[str],
    simulations: int,
    instances: int,
    folder: Path,
    report: Callable[[str], None],
    guests: Guests | None = None,
) -> list[Row]:
    """Everybody of OpenSpiel's side, of ``specs`` and the ``guests`` against everybody, in both games.

    The first ``instances`` of each game are played, and kept in ``folder``. ``simulations``: of its tree search, games
    a decision. Raises :class:`InputError` without OpenSpiel.
    """
    spiel = _spiel_version()
    names = [CHANCE, SEARCH, *specs, *(guests.names if guests is not None else ())]
    ours = {spec: seat_occupant(spec) for spec in specs}
    identities = {spec: identity(spec) for spec in specs}  # what exactly each is, weights too
    rows = []
    for game in GAMES:
        pairs = [(ORACLE, ORACLE)] if game == THEIRS else []
        pairs += [(who, against) for number, who in enumerate(names) for against in names[number:]]
        for who, against in pairs:
            what: dict[str, Any] = {"pair": [game, who, against], "simulations": simulations, "instances": instances}
            what |= {"ours": [identities.get(name) for name in (who, against)], "open_spiel": spiel}
            invited = guests if guests is not None and {who, against} & set(guests.names) else None
            path = place(folder, what | (invited.what if invited is not None else {}))
            kept = read(path)
            row = (
                Row(**kept) if kept is not None else _played(game, who, against, ours, simulations, instances, invited)
            )
            if kept is None:
                row = row._replace(**made_now("numpy", "open_spiel"))
                write(path, row._asdict())
            rows.append(row)
            report(f"{game}: {who} {np.mean(row.points):.2f}, {against} {np.mean(row.left):.2f}, {row.deals:.0%} deals")
    return rows


def _spiel_version() -> str:
    try:
        return version("open_spiel")
    except PackageNotFoundError:
        raise InputError("OpenSpiel is needed: pip install open_spiel") from None


def _played(
    game: str,
    who: str,
    against: str,
    ours: dict[str, Partner],
    simulations: int,
    instances: int,
    guests: Guests | None,
) -> Row:
    table = Table(game, ours, simulations)
    if guests is not None:
        guests.sit(table)
    points: list[float] = []
    left: list[float] = []
    orders = ((who, against),) if who == against else ((who, against), (against, who))
    for instance in range(instances):
        for order in orders:
            returns = table.play(instance, order)
            first = order.index(who)
            points.append(returns[first])
            left.append(returns[1 - first])
    return Row(game, who, against, len(points), points, left)


class Table:
    """One of the two games, and whoever plays it: ``ours`` by name.

    ``instances``: a file of OpenSpiel's form that takes the place of its own, where nobody of ``ours`` plays. Raises
    :class:`InputError` without OpenSpiel.
    """

    def __init__(
        self, game: str, ours: Mapping[str, Partner], simulations: int = 2, *, instances: Path | None = None
    ) -> None:
        try:
            import pyspiel

            from dond_marl.envs.openspiel import game as own
        except ImportError as error:
            raise InputError(f"OpenSpiel is needed: pip install open_spiel ({error})") from None
        self._spiel, self._own, self.kind, self._simulations = pyspiel, own, game, simulations
        self.ours = dict(ours)
        self.guests: dict[str, Callable[[int, int], Says]] = {}
        if game == THEIRS:
            given: dict[str, str | int] = {}
            if instances is not None:
                most = len(instances.read_text(encoding="utf-8").splitlines())
                given = {"instances_file": str(instances), "max_num_instances": most}
            self.game = pyspiel.load_game(THEIRS, given)
        else:
            self.game = pyspiel.load_game(f"{own.NAME}(split=paper_test,disagree=rejects)")

    def play(self, instance: int, players: tuple[str, str]) -> list[float]:
        """The returns of one game; its chance is a function of the instance and the seats."""
        state = self.game.new_initial_state()
        state.apply_action(instance)
        says = [self._says(name, instance, seat) for seat, name in enumerate(players)]
        while not state.is_terminal():
            state.apply_action(says[state.current_player()](state))
        return list(state.returns())

    def _says(self, name: str, instance: int, seat: int) -> Says:
        seed = int(generator(0, f"bargaining {self.kind}", instance, seat).integers(LARGEST_SEED))
        if name == CHANCE:
            draw = np.random.RandomState(seed)
            return lambda state: int(draw.choice(state.legal_actions()))
        if name == ORACLE:
            return self._largest_product
        if name == SEARCH:
            step: Says = self._search(seed).step
            return step
        if name in self.guests:
            return self.guests[name](seed, seat)
        return partial(self.occupant, self.ours[name], seed)

    def _search(self, seed: int) -> Any:
        spiel = self._spiel
        if self.kind == THEIRS:
            evaluator = spiel.RandomRolloutEvaluator(1, seed)
            final = spiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
            return spiel.ISMCTSBot(seed, evaluator, EXPLORATION, self._simulations, -1, final, False, False)
        from open_spiel.python.algorithms import ismcts, mcts  # its C++ search does not take games of Python

        draw = np.random.RandomState(seed)
        bot = ismcts.ISMCTSBot(
            game=self.game, uct_c=EXPLORATION, max_simulations=self._simulations,
            evaluator=mcts.RandomRolloutEvaluator(1, draw), random_state=draw,
        )  # fmt: skip
        bot.set_resampler(partial(_resampled, self._own, draw))
        return bot

    def occupant(self, partner: Partner, seed: int, state: Any) -> int:
        """The number of what a partner says in a state; ``seed``: the game's chance."""
        if self.kind == OURS:
            return self._own.answer(partner, state, seed=seed)
        from dond_marl.envs.openspiel.instances import load_instances
        from dond_marl.envs.openspiel.seat import OFFERS, say

        instance, *said = state.history()
        scenario = _instances(load_instances).scenario(instance)
        return say(
            partner, scenario.counts, scenario.utilities[len(said) % 2], [OFFERS[act] for act in said], seed=seed
        )

    def _largest_product(self, state: Any) -> int:
        if state.current_player() == 1:
            return int(state.agree_action())
        products = []
        for act in state.legal_actions():
            after = state.child(act)
            after.apply_action(after.agree_action())
            products.append(np.prod(after.returns()))
        return int(state.legal_actions()[int(np.argmax(products))])


_KNOWN: list[Any] = []


def _instances(load: Callable[..., Any]) -> Any:
    """All of OpenSpiel's instances, read once."""
    if not _KNOWN:
        _KNOWN.append(load(max_count=5).scenarios)
    return _KNOWN[0]


def _resampled(own: Any, draw: np.random.RandomState, state: Any, player: int) -> Any:
    """A state with another scenario in which ``player`` sees and has heard the same; all are equally likely."""
    table = state.table
    every = own._scenarios(state.split)
    same = (every.counts == np.array(table.scenario.counts)).all(axis=1)
    same &= (every.utilities[:, player] == np.array(table.scenario.utilities[player])).all(axis=1)
    other = state.get_game().new_initial_state()
    other.apply_action(int(draw.choice(np.flatnonzero(same))))
    for act in state.history()[1:]:
        other.apply_action(act)
    return other


def lines(rows: Sequence[Row], simulations: int, learned: Sequence[Mapping[str, Any]] = ()) -> str:
    """What was found as lines of JSON: how, then a pair a line. ``learned``: what guests learned from."""
    about: dict[str, Any] = {"simulations": simulations, "prior": "lewis", "confidence": CONFIDENCE}
    if learned:
        about["learned"] = [dict(each) for each in learned]
    return "".join(json.dumps(row) + "\n" for row in (about, *(_plain(row) for row in rows)))


def _plain(row: Row) -> dict[str, Any]:
    points, left = _means(row)
    return {
        **{key: getattr(row, key) for key in ("game", "who", "against", "games")},
        "points": [round(value, DIGITS) for value in (points.mean, points.low, points.high)],
        "left": [round(value, DIGITS) for value in (left.mean, left.low, left.high)],
        "deals": round(row.deals, DIGITS),
        "nash": round(row.nash, DIGITS),
        "date": row.date,
        "versions": row.versions,
    }


def _means(row: Row) -> tuple[Estimate, Estimate]:
    """Both means, with intervals over instances: the two orders of one instance are not independent."""
    orders = 1 if row.who == row.against else 2  # games of one instance stand side by side
    own, left = (np.reshape(values, (-1, orders)).mean(axis=1) for values in (row.points, row.left))
    return mean_of(own, CONFIDENCE), mean_of(left, CONFIDENCE)


def markdown(text: str) -> str:
    """The lines of a results file as a table for each game."""
    about, *rows = [json.loads(line) for line in text.splitlines()]
    parts = [
        f"Tree search is given {about['simulations']:,} simulated games a decision. Points of ten a game, no deal "
        "being 0, with 95 % intervals over instances; both seats; the product is of both means, as OpenSpiel's example "
        "prints it."
    ]
    for game in dict.fromkeys(row["game"] for row in rows):
        parts += [f"`{game}`:", "\n".join(_table([row for row in rows if row["game"] == game]))]
    for of in about.get("learned", []):
        shares = " and ".join(", ".join(f"{share:.0%}" for share in seat) for seat in of["shares"])
        parts.append(
            f"The oracles of `{of['who']}` learned in `{of['game']}` from {of['decisions']:,} own "
            f"decisions{in_seconds(of['seconds'])}; the shares of who plays in its mixture are {shares}, by seat."
        )
    dates = sorted({row["date"] for row in rows if row.get("date")})
    versions = {f"{name} {number}" for row in rows for name, number in (row.get("versions") or {}).items() if number}
    said = sorted(each for each in versions if not each.startswith("commit"))
    if dates:
        parts.append(f"Played {' and '.join(dict.fromkeys((dates[0], dates[-1])))} with {', '.join(said)}.")
    return "\n\n".join(parts) + "\n"


def in_seconds(seconds: float | None) -> str:
    """What something cost, as the end of a sentence; nothing where that is not known."""
    return "" if seconds is None else f" in {seconds:.0f} CPU seconds"


def _table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "| who | against | games | points | the other's | deals | product |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        own, left = (with_interval(Estimate(ends[0], row["games"], *ends[1:])) for ends in (row["points"], row["left"]))
        cells = (f"`{row['who']}`", f"`{row['against']}`", f"{row['games']:,}", own, left)
        yield f"| {' | '.join(cells)} | {row['deals']:.1%} | {row['nash']:.2f} |"
