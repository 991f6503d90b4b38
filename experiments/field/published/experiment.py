"""Every player with every seed against the likelihood model: made, played and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.errors import DondError, InputError, RunFailure
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Partner
from experiments.field.published.learner import learned, likelihood
from experiments.field.published.results import CONFIDENCE, MEASURES, Found, Row, Step, plain_of, row_of
from experiments.field.published.settings import LIKELIHOOD, ArmSection, GameSection, PublishedConfig
from experiments.kept import made_now, place, read, write
from league.evaluation.matches import Terms
from league.evaluation.outcomes import Outcomes, figures, outcomes_of
from partners.network.network import PolicyNetwork
from partners.network.partner import NetworkPartner
from partners.scripted.rollouts import Rollouts

SPLIT = "paper_test"  # the scenarios of the published test dialogues, in both orders


def perform(config: PublishedConfig, report: Callable[[str], None]) -> Found:
    """Make and play everybody, seed after seed; what is kept in ``output_dir`` is not done again.

    Raises :class:`dond_marl.scenarios.data.DataError` where the published files are missing.
    """
    rows: list[Row] = []
    for seed in range(config.seeds):
        makers = _Makers(config, seed)
        for who, task in makers.tasks():
            path = place(Path(config.output_dir).expanduser(), {"who": who, "seed": seed, **task})
            kept = read(path)
            try:
                row = row_of(kept) if kept is not None else makers.play(who)._replace(**made_now("numpy", "torch"))
            except (DondError, OSError) as error:
                kind = InputError if isinstance(error, InputError) else RunFailure
                raise kind(f"{who}, seed {seed}: {error}") from error
            if kept is None:
                write(path, plain_of(row))
            rows.append(row)
            points = row.measures
            report(
                f"seed {seed}, {who}: {points['points']:.2f} against {points['left']:.2f}, {points['deals']:.1%} deals"
            )
    order = {who: number for number, who in enumerate(_names(config))}
    return Found(
        config.model_dump(mode="json", exclude={"output_dir", "data_dir"}),
        sorted(rows, key=lambda row: (order[row.who], row.seed)),
    )


def _names(config: PublishedConfig) -> list[str]:
    return [LIKELIHOOD, *(arm.name for arm in config.arms), *(search.name for search in config.searches)]


class _Makers:
    """Makes whoever plays with one seed, when they are first needed: what is kept needs nobody."""

    def __init__(self, config: PublishedConfig, seed: int) -> None:
        self._config, self._seed = config, seed
        self._models: dict[int, PolicyNetwork] = {}  # by the turns of the game
        self._learners: dict[str, tuple[PolicyNetwork, list[Step]]] = {}

    def tasks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Everybody of this seed, with all that they are a function of."""
        config = self._config
        base: dict[str, Any] = {"game": config.game.model_dump(), "cloning": config.cloning.model_dump(mode="json")}
        yield LIKELIHOOD, base
        of_arm = {LIKELIHOOD: base}
        for arm in config.arms:
            learning = config.learning_of(arm).model_dump(mode="json")
            of_arm[arm.name] = {
                **base, "game": config.game_of(arm).model_dump(), "learning": learning, "pull": arm.pull
            }  # fmt: skip
            if arm.seeds is None or self._seed < arm.seeds:
                yield arm.name, of_arm[arm.name]
        for search in config.searches:
            if search.seeds is None or self._seed < search.seeds:
                yield search.name, {**of_arm[search.own], "search": search.model_dump()}

    def play(self, who: str) -> Row:
        """One player's games, everybody made who is needed."""
        arms = {arm.name: arm for arm in self._config.arms}
        searches = {search.name: search for search in self._config.searches}
        if who in searches:
            search = searches[who]
            game = self._game(arms.get(search.own))
            model = NetworkPartner(self._model(game))
            own = model if search.own == LIKELIHOOD else NetworkPartner(self._learner(arms[search.own])[0])
            return self._played(who, Rollouts(model, search.simulations, search.candidates, own), game, [])
        if who in arms:
            network, curve = self._learner(arms[who])
            return self._played(who, NetworkPartner(network), self._game(arms[who]), curve)
        return self._played(who, NetworkPartner(self._model(self._config.game)), self._config.game, [])

    def _game(self, arm: ArmSection | None) -> GameSection:
        return self._config.game if arm is None else self._config.game_of(arm)

    def _model(self, game: GameSection) -> PolicyNetwork:
        if game.max_turns not in self._models:
            config = self._config
            self._models[game.max_turns] = likelihood(config.cloning, game.rules(), config.data_dir, self._seed)
        return self._models[game.max_turns]

    def _learner(self, arm: ArmSection) -> tuple[PolicyNetwork, list[Step]]:
        if arm.name not in self._learners:
            game = self._game(arm)
            found = learned(self._config.learning_of(arm), game, arm.pull, self._model(game), self._seed)
            self._learners[arm.name] = found.network, found.curve
        return self._learners[arm.name]

    def _played(self, who: str, player: Partner, game: GameSection, curve: list[Step]) -> Row:
        against = NetworkPartner(self._model(game))
        source = open_source("lewis", split=SPLIT)
        assert source.table is not None
        terms = Terms(source, source.table, game.rules(), self._seed, CONFIDENCE)
        seats: list[Outcomes] = []
        for number in range(game.repeats):
            played = terms.games((player, player), against, index=(number,))
            seats += [outcomes_of(games, seat) for seat, games in enumerate(played)]
        outcomes = Outcomes(*(np.concatenate(parts) for parts in zip(*seats, strict=True)))
        found = figures(outcomes, CONFIDENCE)
        return Row(who, self._seed, len(outcomes.own), {name: getattr(found, name).mean for name in MEASURES}, curve)
