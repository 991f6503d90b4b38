"""Who costs something to ask is so by name and by traits; a network of the league sits down greedy or sampling."""

from __future__ import annotations

import pytest

from dond_marl.occupants import OccupantNameError, parse_spec, seat_occupant
from dond_marl.seats import Traits, expensive_to_query
from league.play.blobs import write_blob
from league.play.match import SEATING
from league.play.occupant_kinds import kinds_in
from league.play.practice import first_state
from league.play.values import Entrant, Member
from league.settings.learners import LearnerConfig
from league.settings.sections import EnvConfig
from partners.catalogue import PARTNERS

PERSON = "human(interface='dond.table.game:Terminal')"


@pytest.mark.parametrize("spec", [*sorted(PARTNERS), PERSON, "llm(provider=hf)", "mixture(of=['random', 'llm'])"])
def test_who_costs_something_by_name_costs_something_by_its_traits(spec):
    try:
        traits = seat_occupant(spec).traits
    except OccupantNameError:  # it needs parameters
        return
    assert Member("who", parse_spec(spec)).costly is expensive_to_query(traits)


def test_a_service_a_person_and_a_model_on_this_machine_cost_something():
    assert (
        expensive_to_query(Traits(remote=True))
        and expensive_to_query(Traits(human=True))
        and expensive_to_query(Traits(costly=True))
    )
    assert (
        Member("who", parse_spec("llm(provider=hf)")).costly
        and not Member("who", parse_spec("expert(kind=supervised)")).costly
    )
    assert not expensive_to_query(Traits(learned=True, privileged=True)) and not Member("main", None, "main").costly


def test_a_path_names_no_occupant():
    assert kinds_in(parse_spec("checkpoint(path='runs/llm/a (llm).json')")) == {"checkpoint"}
    assert {"mixture", "llm"} <= kinds_in(parse_spec("mixture(of=['heuristic', 'llm(provider=hf)'])"))


def test_a_network_of_the_league_is_greedy_on_request(tmp_path):
    state, content = first_state(LearnerConfig(name="main", hidden=(8,)), EnvConfig(), hinted=False, seed=1)
    write_blob(tmp_path, content)
    main = Entrant(Member("main", None, "main"), state.blob)
    assert SEATING.partner(main, tmp_path, greedy=True).traits.deterministic
    assert not SEATING.partner(main, tmp_path).traits.deterministic
