"""What a league leaves for TensorBoard: each learner's practice, its place on the ladder and its stage, by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from league.tasks.values import Round

if TYPE_CHECKING:
    from league.standings.crossplay import Standing


class LeagueLog:
    """An open log; rounds that are played again after a resume replace those that were lost."""

    def __init__(self, folder: Path, first_round: int) -> None:
        from torch.utils.tensorboard import SummaryWriter  # slow to import

        self._events: Any = SummaryWriter(str(folder), purge_step=first_round)

    def write(self, played: Round, standings: Sequence[Standing]) -> None:
        """Log a round."""
        figures: dict[str, float] = {"stage": played.stage}
        for practiced in played.trained:
            name = practiced.task.learner.name
            figures |= {
                f"{name}/practice_points": practiced.points,
                f"{name}/practice_deals": practiced.deals,
                f"{name}/decisions": practiced.state.decisions,
                f"{name}/life": practiced.state.life,
            }
        for row in standings:
            if row.member in played.states:
                figures |= {
                    f"{row.member}/points": row.points.mean,
                    f"{row.member}/of_response": row.of_response.mean,
                    f"{row.member}/of_nash": row.of_nash.mean,
                    f"{row.member}/deals": row.deals,
                    f"{row.member}/self_play": row.self_play,
                }
        for name, value in figures.items():
            if not math.isnan(value):
                self._events.add_scalar(name, value, played.number)

    def close(self) -> None:
        """Write what is left."""
        self._events.close()
