"""Simulated participants: each reads the page and plays as an occupant, by forms."""

from __future__ import annotations

import html
import json
import re
from typing import Any

from dond.study.progress import StudyTable
from dond.study.settings import StudyConfig
from dond_marl.envs.turn import only_action, turn_for
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import Noise, rollout
from dond_marl.scenarios.sources import pack
from league.settings.read import parse

CONFIG = """
study: {seed: 5, games: GAMES, attempts: 2, waiting: 60, turn: 30, stand_in: prosocial, design: DESIGN}
env: {scenarios: lewis, split: test}
conditions: CONDITIONS
texts: {consent: "Please read.", instructions: "Share out the items.", thanks: "Thank you."}
check:
  - {question: How many, options: [one, two], answer: 2}
questionnaire:
  - {name: fair, question: How fair, points: 5}
  - {name: whom, question: Whom, kind: choice, options: [person, program]}
  - {name: words, question: Anything, kind: text}
output_dir: study
"""
Fields = dict[str, str | list[str]]
SECRET = "I am Bob and live at 12 Elm Street"


def config(games: int = 2, conditions: str = "[prosocial, person]", design: str = "between") -> StudyConfig:
    text = CONFIG.replace("GAMES", str(games)).replace("CONDITIONS", conditions).replace("DESIGN", design)
    return parse(text, model=StudyConfig)


class Forms:
    """Access by HTTP, as a browser without scripts. ``client``: httpx's, or Starlette's test client."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def page(self) -> str:
        answer = self.client.get("/")
        assert answer.status_code == 200, answer.text
        return answer.text

    def send(self, action: str, fields: Fields) -> None:
        answer = self.client.post(action, data=fields, follow_redirects=False)
        assert answer.status_code == 303, (action, fields, answer.text)


class Visitor:
    """One participant: the occupant ``kind`` at a surface."""

    def __init__(self, surface: Forms, kind: str, settings: StudyConfig) -> None:
        self.surface, self.kind, self.settings = surface, kind, settings
        self.partner = seat_occupant(kind, one_game=True)
        self.code: str | None = None
        self.wrong_first = False  # fail the check once

    def step(self) -> bool:
        """Take the next step, if there is one; whether the study is over for this participant."""
        page = self.surface.page()
        if (code := re.search(r'class="code">([A-Z2-7-]+)<', page)) is not None:
            self.code = code[1]
            return True
        actions = set(re.findall(r'<form [^>]*action="(/\w+)"', page)) - {"/leave"}
        if not re.search(r'<button [^>]*name="act"(?![^>]* disabled)', page):  # the partner is to move
            actions -= {"/act"}
        if not actions:
            return False
        (action,) = actions
        self.surface.send(action, self._fields(action, page))
        return False

    def _fields(self, action: str, page: str) -> Fields:
        if action == "/agree":
            return {"agree": "yes"}
        if action == "/check":
            wrong, self.wrong_first = self.wrong_first, False
            right = {f"q{place}": str(each.answer) for place, each in enumerate(self.settings.check)}
            return {**right, "q0": "1"} if wrong else right
        if action == "/act":
            return self._act(page)
        if action == "/answers":
            kinds = {"scale": "3", "choice": "1", "text": SECRET}
            return {each.name: kinds[each.kind] for each in self.settings.questionnaire}
        return {}

    def _act(self, page: str) -> Fields:
        state = state_on(page)
        action = only_action(self.partner.act(turn_for(self.partner, state, Noise(0, (), 1), prior="lewis")))
        hidden = dict(re.findall(r'type="hidden" name="(table|turn)" value="(\d+)"', page))
        kept = [str(item) for item, number in enumerate(action.oA) for _ in range(number)]
        split: Fields = {"keep": kept} if action.act_type.is_offer else {}
        return {**hidden, **split, "act": action.act_type.name, "sure": "1"}


def state_on(page: str) -> State:
    """The game from the attributes of a page, with zeros for the partner's values."""
    known = dict(re.findall(r'data-(seat|pool|values|said|acts)="([^"]*)"', page))
    said = {name: json.loads(html.unescape(text)) for name, text in known.items()}
    mine, nothing = tuple(said["values"]), (0, 0, 0)
    utilities = (mine, nothing) if said["seat"] == 0 else (nothing, mine)
    state = State(Scenario(tuple(said["pool"]), utilities), Rules(said["acts"]))
    for act, oA in said["said"]:
        state = apply(state, Action(Act[act], tuple(oA)))
    return state


KINDS = ("heuristic", "boulware", "conceder", "nash_seeker", "first_acceptable_offer")


def kind_of(number: int) -> str:
    """The occupant that participant ``number`` plays as."""
    return KINDS[number % len(KINDS)]


def scores_by_rollout(table: StudyTable) -> tuple[int, ...]:
    """The scores of a table's game if its policies play by themselves."""
    names = [table.partner if number is None else kind_of(number) for number in table.players]
    first, second = map(seat_occupant, names)
    scenarios = pack([table.state.scenario], "lewis")
    return tuple(rollout((first, second), scenarios, table.state.rules, seed=0).scores[0].tolist())


def all_through(visitors: list[Visitor], most: int = 3000) -> None:
    """Let all participants take turns until all are done."""
    open_ = list(visitors)
    for _ in range(most):
        open_ = [visitor for visitor in open_ if not visitor.step()]
        if not open_:
            return
    raise AssertionError(f"{len(open_)} are not done")
