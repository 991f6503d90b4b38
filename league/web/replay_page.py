"""The replay page: a recorded game one step at a time, with both private views and the evaluated policies.

Every step is an address of its own, so that the page works by plain links; thoughts, hints and best responses are
fetched after the step is shown, as they may take seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from markupsafe import Markup

from dond_marl.errors import NotComputable, error_line
from dond_marl.game import Action
from dond_marl.records.record import GameRecord
from dond_marl.scenarios.sources import pack
from dond_marl.seats import Partner
from league.display.frontier import plane_of
from league.display.game import Step, steps
from league.web.after_game import GameAddress
from league.web.frame import one_sentence, render
from league.web.live_game import Hint
from league.web.occupants import (
    CHOICE_ERRORS,
    HINT_LABELS,
    HINT_MODES,
    SOLVED,
    OccupantMenu,
    make_adviser,
    make_partner,
)
from league.web.recorded import (
    advice,
    beliefs,
    best_answer,
    is_person,
    policy,
    prior_of,
    seat_names,
    title,
)
from partners.equilibrium import has_table

SUGGESTED = ("expert", "heuristic", SOLVED)  # policies to evaluate where a person played
RECORDED = ""  # key of the recorded player's own policy
T = TypeVar("T")


class ReplayView(NamedTuple):
    """A replay's address: the game, the step, and the policies that are evaluated."""

    game: GameAddress
    step: int = 0
    player: str = RECORDED  # key of the menu
    adviser: str = "expert"  # one of HINT_MODES

    def at_step(self, step: int) -> ReplayView:
        return self._replace(step=step)

    def address(self, path: str = "/replay", **more: object) -> str:
        """The URL of this view under ``path``, with ``more`` parameters."""
        return self.game.url(path, step=self.step, player=self.player, adviser=self.adviser, **more)


def stepper(record: GameRecord, menu: OccupantMenu, view: ReplayView, *, plays: bool = False) -> Markup:
    """A game at one step; ``plays``: it advances by itself.

    Raises :class:`~dond_marl.records.record.RecordError` for a record that does not replay.
    """
    all_steps, names = steps(record), seat_names(record)
    view = view.at_step(min(max(view.step, 0), len(all_steps) - 1))
    people = [seat for seat in (0, 1) if is_person(record.occupants[seat])]
    panel = _policy_panel(record, menu, view, all_steps[view.step])
    return render("replay", "stepper", title(record), plays, view, all_steps, names, panel, people)


def _policy_panel(record: GameRecord, menu: OccupantMenu, view: ReplayView, step: Step) -> Markup:
    """The panel of evaluated policies at a step, or of the result at the end."""
    if step.action is None:
        return render("replay", "ending", plane_of(record, 0, seat_names(record)))
    unfit = () if has_table(record.rules, pack([record.scenario])) else (SOLVED,)  # it has no table for this game
    suggested: tuple[str, ...] = ()
    if view.player == RECORDED and is_person(record.occupants[step.state.mover]):
        suggested = tuple(name for name in SUGGESTED if name in menu.candidates and name not in unfit)
    modes = {mode: HINT_LABELS[mode] for mode in HINT_MODES if mode not in unfit}
    return render("replay", "policy_panel", view, menu, modes, suggested)


def evaluated_policies(record: GameRecord, menu: OccupantMenu, view: ReplayView) -> Markup:
    """Policy, beliefs, hint and best response at a step. Slow the first time, as partners are made."""
    all_steps = steps(record)
    step, prior = all_steps[min(max(view.step, 0), len(all_steps) - 1)], prior_of(record)
    if step.action is None:
        return Markup("")
    mover = step.state.mover
    player, other = record.occupants[mover], record.occupants[1 - mover]

    def evaluated_partner() -> Partner:
        if view.player == RECORDED and is_person(player):
            raise NotComputable("a person played here, so the policy is not known")
        return make_partner(menu.resolve(player) if view.player == RECORDED else menu.candidate(view.player))[0]

    def hint() -> Hint | None:
        adviser = make_adviser(view.adviser)
        return None if adviser is None else advice(adviser, step, prior)

    def best() -> Action:
        if is_person(other):
            raise NotComputable("the partner is a person with unknown answers")
        return best_answer(make_partner(menu.resolve(other))[0], step, prior)

    bars = result_or_reason(lambda: policy(evaluated_partner(), step, prior))
    believed = None
    if not isinstance(bars, str):
        believed = result_or_reason(lambda: beliefs(evaluated_partner(), step, prior))
    return render("replay", "evaluated", step, other, bars, believed, result_or_reason(hint), result_or_reason(best))


def result_or_reason(work: Callable[[], T]) -> T | str:
    """The result of ``work``, or the reason why it is not known, a line; code of other packages may raise anything."""
    try:
        return work()
    except CHOICE_ERRORS as error:
        return one_sentence(error).removesuffix(".")
    except Exception as error:  # noqa: BLE001
        return error_line(error)
