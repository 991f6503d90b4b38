"""The replay page: a recorded game one step at a time, with both private views and the evaluated policies.

A record holds acts, not their reasons. Where the name of an occupant can be resolved, its policy is evaluated on the
recorded state; so are an adviser and the exact best response to the other seat. Every step is an address of its own, so
that the page works by plain links; policies, hints and best responses are fetched after the step is shown, as they may
take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from markupsafe import Markup

from dond.table.frontier import plane_of
from dond.table.game import Step, steps
from dond.table.session import Hint, hint_at
from dond.web.after_game import GameAddress
from dond.web.frame import one_sentence, render
from dond.web.occupants import (
    CHOICE_ERRORS,
    HINT_LABELS,
    HINT_MODES,
    MODEL,
    SOLVED,
    UNASKED,
    OccupantMenu,
    make_adviser,
    make_partner,
)
from dond.web.recorded import is_person, seat_names, title
from dond_marl.envs.turn import only_action, turn_of
from dond_marl.errors import NotComputable, UntrustedError, error_line
from dond_marl.game import Act, Action, Triple, rest
from dond_marl.occupants import OccupantNameError
from dond_marl.records.record import GameRecord
from dond_marl.rollout import Noise
from dond_marl.scenarios.sources import pack
from dond_marl.seats import Partner
from dond_marl.solvers.adaptive import is_enumerable
from dond_marl.solvers.best_response import exact_by_answers
from dond_marl.solvers.recognition import Believes
from dond_marl.solvers.replies import Probable
from dond_marl.splits import action_at
from league.play.occupant_kinds import is_free
from partners.best_response import BestResponse
from partners.equilibrium import has_table
from partners.scripted.generated import describe_spec

SUGGESTED = ("expert", "heuristic", SOLVED)  # policies to evaluate where a person played
RECORDED = ""  # key of the recorded player's own policy
MAX_BARS = 6  # acts of a policy that are shown
MAX_MEMBERS = 4  # members whose probability is shown
T = TypeVar("T")


class PolicyBar(NamedTuple):
    """One act and its probability under a policy."""

    action: Action
    probability: float
    chosen: bool  # it is the recorded act


class Beliefs(NamedTuple):
    """A policy's beliefs on its partner at a step."""

    values: tuple[tuple[float, ...], ...]  # for each item: the probability of 0..10 points
    members: tuple[tuple[str, float], ...]  # the likeliest members of a population, likeliest first


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


def stepper(
    record: GameRecord, menu: OccupantMenu, view: ReplayView, *, plays: bool = False, queried: bool = False
) -> Markup:
    """A game at one step; ``plays``: it advances by itself; ``queried``: see :func:`evaluated_policies`.

    Raises :class:`~dond_marl.records.record.RecordError` for a record that does not replay.
    """
    all_steps, names = steps(record), seat_names(record)
    view = view.at_step(min(max(view.step, 0), len(all_steps) - 1))
    people = [seat for seat in (0, 1) if is_person(record.occupants[seat])]
    panel = _policy_panel(record, menu, view, all_steps[view.step], queried)
    described = dict(zip(names, map(describe_spec, record.occupants), strict=True))
    words = [(name, words) for name, words in described.items() if words]
    shares = shares_at(all_steps, view.step, names)
    return render("replay", "stepper", title(record), plays, view, all_steps, names, panel, people, words, *shares)


def shares_at(all_steps: Sequence[Step], number: int, names: tuple[str, str]) -> tuple[tuple[Triple, Triple], str]:
    """The items of both seats after act ``number``, from 0, or at the end, and a label: the deal, or the last offer."""
    outcome, counts = all_steps[number].state.outcome, all_steps[0].state.scenario.counts
    if outcome is not None and outcome.allocation is not None:
        return outcome.allocation, "The deal"
    for step in reversed(all_steps[: number + 1]):
        if step.action is not None and step.action.act_type.is_offer:
            shares = (step.action.oA, rest(counts, step.action.oA))
            label = "No deal: the last offer" if outcome is not None else f"{names[step.state.mover]}'s offer"
            return (shares if step.state.mover == 0 else shares[::-1]), label
    return ((0, 0, 0), (0, 0, 0)), "No offer yet"


def _policy_panel(record: GameRecord, menu: OccupantMenu, view: ReplayView, step: Step, queried: bool) -> Markup:
    """The panel of evaluated policies at a step, or of the result at the end."""
    if step.action is None:
        people = [seat for seat in (0, 1) if is_person(record.occupants[seat])]
        seat, names = people[0] if len(people) == 1 else 0, seat_names(record)
        return render("replay", "ending", plane_of(record, seat, (names[seat], names[1 - seat])))
    unfit = () if has_table(record.rules, pack([record.scenario])) else (SOLVED,)  # it has no table for this game
    suggested: tuple[str, ...] = ()
    person = is_person(record.occupants[step.state.mover])
    if view.player == RECORDED and person:
        fit = [name for name in SUGGESTED if name in menu.candidates and name not in unfit]
        view, suggested = view._replace(player=fit[0] if fit else RECORDED), tuple(fit[1:])
    modes = {mode: HINT_LABELS[mode] for mode in HINT_MODES if mode not in unfit}
    to_ask = not queried and _reaches_outside(menu, view)
    return render("replay", "policy_panel", view, menu, modes, person, suggested, to_ask)


def _reaches_outside(menu: OccupantMenu, view: ReplayView) -> bool:
    """Whether the policies that a visitor chose query a language model or run code, which needs a form of our page."""
    try:
        if view.player != RECORDED:
            menu.of_record().candidate(view.player)
    except (OccupantNameError, UntrustedError):
        return True
    return view.adviser == MODEL


def evaluated_policies(record: GameRecord, menu: OccupantMenu, view: ReplayView, *, queried: bool = False) -> Markup:
    """Policy, beliefs, hint and best response at a step. Slow the first time, as partners are made.

    The names in a record query no model. ``queried``: the policies that the visitor chose may.
    """
    all_steps = steps(record)
    step = all_steps[min(max(view.step, 0), len(all_steps) - 1)]
    prior = (record.source or "").split(",")[0]  # the scenario distribution that both seats knew
    if step.action is None:
        return Markup("")
    of_record = menu.of_record()
    chosen = menu if queried else of_record
    mover = step.state.mover
    player, other = record.occupants[mover], record.occupants[1 - mover]

    def evaluated_partner() -> Partner:
        if view.player == RECORDED and is_person(player):
            raise NotComputable("a person played here, so the policy is not known")
        return make_partner(of_record.resolve(player) if view.player == RECORDED else chosen.candidate(view.player))[0]

    def hint() -> Hint | None:
        if view.adviser == MODEL and not queried:
            raise NotComputable(f"it would query a language model: {UNASKED}")
        adviser = make_adviser(view.adviser)
        return None if adviser is None else hint_at(adviser, step.state, Noise(0, (), 1), prior)

    def best() -> Action:
        if is_person(other):
            raise NotComputable("the partner is a person with unknown answers")
        return best_answer(make_partner(of_record.resolve(other))[0], step, prior)

    bars = result_or_reason(lambda: policy(evaluated_partner(), step, prior))
    believed = None
    if not isinstance(bars, str):
        believed = result_or_reason(lambda: beliefs(evaluated_partner(), step, prior))
    about, hints = seat_names(record)[1 - mover], result_or_reason(hint)
    return render("replay", "evaluated", step, other, bars, believed, hints, result_or_reason(best), about)


def policy(partner: Partner, step: Step, prior: str) -> tuple[PolicyBar, ...]:
    """The likeliest acts of ``partner`` at a step before the end, likeliest first.

    Raises :class:`NotComputable` for a random partner without probabilities, and whatever the partner raises.
    """
    turn = turn_of(step.state, prior=prior)
    sampling_policy = getattr(partner, "sampling_policy", None)  # of an occupant that plays its likeliest act
    partner = sampling_policy() if callable(sampling_policy) else partner
    if isinstance(partner, Probable):
        biggest = max(step.state.scenario.counts)
        probs = partner.probs(turn, biggest)[0]
        order = np.argsort(-probs, kind="stable")[:MAX_BARS].tolist()
        likely = [(_action_at(number, biggest), float(probs[number])) for number in order if probs[number] > 0]
    elif partner.traits.deterministic:
        likely = [(only_action(partner.act(turn)), 1.0)]
    else:
        raise NotComputable("it is random, and its probabilities are not known")
    return tuple(PolicyBar(action, chance, action == step.action) for action, chance in likely)


def beliefs(partner: Partner, step: Step, prior: str) -> Beliefs | None:
    """The beliefs of ``partner`` on its partner at a step; ``None`` for policies without beliefs."""
    guess = partner.beliefs(turn_of(step.state, prior=prior)) if isinstance(partner, Believes) else None
    if guess is None:
        return None
    chances = guess.identity[0].tolist() if guess.members else []
    members = sorted(zip(guess.members, chances, strict=True), key=lambda pair: -pair[1])
    return Beliefs(tuple(tuple(map(float, item)) for item in guess.values[0]), tuple(members[:MAX_MEMBERS]))


def best_answer(partner: Partner, step: Step, prior: str) -> Action:
    """The act of the exact best response to ``partner`` at a step before the end. Raises :class:`NotComputable`."""
    rules = step.state.rules
    if not is_free(partner):
        raise NotComputable("it is queried in its games alone")
    if not exact_by_answers(partner, rules) and not (partner.traits.deterministic and is_enumerable(partner, rules)):
        raise NotComputable("it is exact only against a deterministic partner with a known memory")
    return only_action(BestResponse(partner).act(turn_of(step.state, prior=prior)))


def _action_at(number: int, max_count: int) -> Action:
    """The action of a flat index of :mod:`dond_marl.splits`."""
    act, oA = action_at(number, max_count)
    split: Triple = tuple(oA.tolist())
    return Action(Act(int(act)), split)


def result_or_reason(work: Callable[[], T]) -> T | str:
    """The result of ``work``, or the reason why it is not known, a line; code of other packages may raise anything."""
    try:
        return work()
    except CHOICE_ERRORS as error:
        return one_sentence(error).removesuffix(".")
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return error_line(error)
