"""Policy-space response oracles at OpenSpiel's tables: OpenSpiel's own, and a league of ours after as many decisions.

OpenSpiel's is ``psro_v2`` (Lanctot et al. 2017, algorithm 1), an iteration after the other with a new oracle of policy
gradient in each seat, set as in its ``psro_v2_example.py``. Not as there: projected replicator dynamics in place of
AlphaRank, as many games an oracle as make about three iterations, fewer an entry of its table, and the policy gradient
of PyTorch, not of JAX; copies of either begin anew. It learns in the game in which it plays. Ours is the league of
``league_psro.yaml``, which learns in this game. Either plays the mixture of its last table. Needs the packages
``open_spiel`` and ``cvxpy``.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.randomness import generator
from league.experiments.field.bargaining import GAMES, Says, Table, in_seconds
from league.experiments.field.bargaining import OURS as HERE
from league.experiments.field.psro_league import OURS, OwnLeague, learned_with, ours
from league.experiments.kept import place, read, write

THEIRS = "psro_v2"
ITERATIONS, DECISIONS_A_GAME = 3, 4  # of theirs: about so many; own ones
AGENT: dict[str, Any] = {
    "loss_str": "qpg", "loss_class": None, "hidden_layers_sizes": [256] * 4, "entropy_cost": 0.001,
    "critic_learning_rate": 1e-2, "pi_learning_rate": 1e-3, "num_critic_before_pi": 8, "optimizer_str": "adam",
}  # fmt: skip
SOLVER: dict[str, Any] = {
    "sims_per_entry": 200, "meta_strategy_method": "prd", "training_strategy_selector": "probabilistic",
    "sample_from_marginals": True, "prd_iterations": 50_000, "prd_gamma": 1e-10,
}  # fmt: skip
LARGEST_SEED = 2**31 - 1
SEATS = (0, 1)
WAY = 2  # of learning here: one more whenever the same settings and seed come to other weights


class Learned(NamedTuple):
    """Who learned, as a mixture of policies in each seat."""

    policies: Sequence[Sequence[Oracle]]  # by seat
    shares: Sequence[Sequence[float]]  # by seat, of the policies
    decisions: int  # own decisions that were learned from, of all oracles
    seconds: float  # of processor time
    digest: str  # of all weights

    def drawn(self, seat: int, draw: np.random.RandomState) -> Says:
        """One policy of the seat's mixture, for one game."""
        policy = self.policies[seat][int(draw.choice(len(self.shares[seat]), p=self.shares[seat]))]

        def says(state: Any) -> int:
            acts, chances = zip(*policy(state).items(), strict=True)
            return int(draw.choice(acts, p=chances))

        return says


class Oracle:
    """A policy of OpenSpiel as its oracle and its solver ask for one: an agent of policy gradient in one seat."""

    def __init__(self, env: Any, player: int, tally: list[int]) -> None:
        from open_spiel.python.pytorch.policy_gradient import PolicyGradient

        sizes = {
            "info_state_size": env.observation_spec()["info_state"][0],
            "num_actions": env.game.num_distinct_actions(),
        }
        self._env, self._player, self._tally, self._frozen = env, player, tally, False
        self._agent = PolicyGradient(player, **sizes, **AGENT)
        self.network = self._agent.policy_logits_network

    def step(self, time_step: Any, is_evaluation: bool = False) -> Any:
        """An act; what was learned from goes into the tally, and at the end of a game it learns."""
        import torch

        learns = not (self._frozen or is_evaluation)
        self._tally[0] += learns and not time_step.last()
        with torch.set_grad_enabled(learns and time_step.last()):
            return self._agent.step(time_step, not learns)

    def freeze(self) -> None:
        """Learn no more."""
        self._frozen = True

    def unfreeze(self) -> None:
        """Learn from here on."""
        self._frozen = False

    def is_frozen(self) -> bool:
        """Whether it learns no more."""
        return self._frozen

    def copy_with_noise(self, sigma: float = 0.0) -> Oracle:  # noqa: ARG002  # what its oracle asks
        """A new one."""
        return Oracle(self._env, self._player, self._tally)

    def __call__(self, state: Any) -> dict[int, float]:
        """The chance of each legal act."""
        import torch

        player, legal = state.current_player(), state.legal_actions()
        seen = state.observation_tensor(player) if self._env.use_observation else state.information_state_tensor(player)
        with torch.no_grad():
            logits = self.network(torch.tensor(np.array([seen]), dtype=torch.float32))[0, legal]
        chances = torch.softmax(logits.double(), dim=0).numpy()
        return dict(zip(legal, (chances / chances.sum()).tolist(), strict=True))


def theirs(game: Any, decisions: int, seed: int, folder: Path) -> Learned:
    """OpenSpiel's in a game of its: iterations until its oracles have learned from at least so many own decisions.

    What it comes to is kept in ``folder``; what was stopped begins anew.
    """
    from open_spiel.python import rl_environment
    from safetensors.numpy import load_file, save_file

    number = int(generator(seed, THEIRS).integers(LARGEST_SEED))
    env = rl_environment.Environment(game, chance_event_sampler=rl_environment.ChanceEventSampler(seed=number))
    path = place(folder, learning_of_theirs(game, decisions, seed))
    weights = path.with_suffix(".safetensors")
    kept = read(path) if weights.is_file() else None
    if kept is None:
        began, tally = process_time(), [0]
        _loaded()  # what is loaded for the first time may draw from the same generators
        with _seeded(number):
            solver = _solver(env, tally, _episodes(decisions))
            while tally[0] < decisions:
                solver.iteration()
        shares = [np.round(of, 6).tolist() for of in solver.get_meta_strategies()]
        kept = {"shares": shares, "decisions": tally[0], "seconds": process_time() - began}
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(
            {
                f"{seat}.{place_of}.{name}": value.numpy()
                for seat in SEATS
                for place_of, oracle in enumerate(solver.get_policies()[seat])
                for name, value in oracle.network.state_dict().items()
            },
            weights,
        )
        write(path, kept)
    with _seeded(number):
        policies = [[Oracle(env, seat, [0]) for _ in kept["shares"][seat]] for seat in SEATS]
    _restore(policies, load_file(weights))
    whole = [[share / sum(of) for share in of] for of in kept["shares"]]
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    return Learned(policies, whole, kept["decisions"], kept["seconds"], digest)


def learning_of_theirs(game: Any, decisions: int, seed: int) -> dict[str, Any]:
    """All that the weights of OpenSpiel's are a function of, as plain values."""
    asked = {"game": str(game), "decisions": decisions, "episodes": _episodes(decisions), "seed": seed}
    return {
        "who": THEIRS,
        **asked,
        "agent": dict(AGENT),
        "solver": dict(SOLVER),
        **learned_with(WAY, "open_spiel", "torch"),
    }


def _episodes(decisions: int) -> int:
    return max(1, decisions // (ITERATIONS * len(SEATS) * DECISIONS_A_GAME))


class Oracles:
    """Both at the tables of :mod:`league.experiments.field.bargaining`, for which they learn here.

    Raises :class:`InputError` without OpenSpiel or what its PSRO needs.
    """

    names: tuple[str, ...] = (THEIRS, OURS)

    def __init__(self, decisions: int, seed: int, folder: Path, report: Callable[[str], None]) -> None:
        self._theirs: dict[str, Learned] = {}
        for kind in GAMES:
            found = self._theirs[kind] = theirs(Table(kind, {}).game, decisions, seed, folder)
            report(f"{kind}: {THEIRS}, {found.decisions:,} own decisions in {found.seconds:.0f} CPU seconds")
        self._ours = ours(decisions, seed, folder)
        report(f"{HERE}: {OURS}, {self._ours.decisions:,} own decisions{in_seconds(self._ours.seconds)}")
        theirs_weights = {kind: [found.digest, found.shares] for kind, found in self._theirs.items()}
        self.what: dict[str, Any] = {THEIRS: theirs_weights, OURS: [self._ours.digest, self._ours.made.shares]}

    def sit(self, table: Table) -> None:
        """Put both among the guests of ``table``."""
        learned, players = self._theirs[table.kind], self._ours.made.players
        table.guests[THEIRS] = lambda seed, seat: learned.drawn(seat, np.random.RandomState(seed))
        table.guests[OURS] = lambda seed, seat: partial(table.occupant, players[seat], seed)

    def learned(self) -> list[dict[str, Any]]:
        """Who learned in which game, from what, what it cost, and the mixture of each seat."""
        found: list[tuple[str, str, Learned | OwnLeague, Sequence[Sequence[float]]]]
        found = [(THEIRS, kind, of, of.shares) for kind, of in self._theirs.items()]
        found.append((OURS, HERE, self._ours, [list(seat.values()) for seat in self._ours.made.shares]))
        return [
            {
                "who": who,
                "game": kind,
                "decisions": of.decisions,
                "seconds": None if of.seconds is None else round(of.seconds, 1),
                "shares": shares,
            }
            for who, kind, of, shares in found
        ]


def _loaded() -> tuple[Any, Any]:
    try:
        from open_spiel.python.algorithms.psro_v2 import psro_v2, rl_oracle
        from open_spiel.python.pytorch import policy_gradient  # noqa: F401
    except ImportError as error:
        raise InputError(f"OpenSpiel's PSRO needs cvxpy: pip install cvxpy ({error})") from None
    return psro_v2, rl_oracle


def _solver(env: Any, tally: list[int], episodes: int) -> Any:
    psro_v2, rl_oracle = _loaded()
    oracle = rl_oracle.RLOracle(env, Oracle, {"tally": tally}, number_training_episodes=episodes, sigma=0.0)
    first = [Oracle(env, seat, tally) for seat in SEATS]
    for each in first:
        each.freeze()
    return psro_v2.PSROSolver(env.game, oracle, initial_policies=first, **SOLVER)


def _restore(policies: Sequence[Sequence[Oracle]], tensors: dict[str, Any]) -> None:
    import torch

    for seat, of in enumerate(policies):
        for number, oracle in enumerate(of):
            start = f"{seat}.{number}."
            own = {name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)}
            oracle.network.load_state_dict({name: torch.from_numpy(value) for name, value in own.items()})


@contextlib.contextmanager
def _seeded(number: int) -> Iterator[None]:
    """The global generators, which OpenSpiel draws from, are put back afterwards; what it prints goes nowhere."""
    import torch

    before, plain = np.random.get_state(), random.getstate()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]), contextlib.redirect_stdout(io.StringIO()):
        np.random.seed(number)  # noqa: NPY002
        random.seed(number)
        torch.manual_seed(number)
        try:
            yield
        finally:
            np.random.set_state(before)  # noqa: NPY002
            random.setstate(plain)
