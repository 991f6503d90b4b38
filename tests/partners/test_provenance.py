"""Provenance: one identity for one player, all opponents in a past, and a refusal that names the path."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from inspect import signature

import pytest

from dond_marl.occupants import Spec, catalogue, parse_spec
from dond_marl.scenarios.sources import open_source
from partners.catalogue import PARTNERS
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.network import PolicyNetwork
from partners.network.occupants import EXPERT
from partners.network.shape import NetworkShape
from partners.provenance import (
    DECLARED,
    ITSELF,
    KEYS,
    NO_PAST,
    Ancestry,
    OccupantProvenance,
    ProvenanceError,
    ancestry,
    confirm_test_unseen,
    held_out_scenarios,
    human_dialogues,
    identity,
    label,
    programs,
    provenance_of,
    read_past,
    refuse_test_roster,
)
from partners.rosters import TRAIN, roster
from tests.command import HERE

TEST = ("tough", "boulware(exponent=3.0)")  # a roster for these tests


def refuse_opponents(specs, learner="the learner", test=None):
    refuse_test_roster(NO_PAST.add_opponents(map(provenance_of, specs)), learner, test)


def checkpoint(path, past: Ancestry | None = None, seed: int = 0) -> str:
    """A small network in a file, as a spec."""
    network = PolicyNetwork(NetworkShape(hidden=(8,)), seed=seed)
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    save_checkpoint(path, tensors, {**network_note(network), **({} if past is None else past.note())})
    return f"checkpoint(path={str(path)!r})"


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("linear", {"kind": "linear", "floor": 0.5, "exponent": 1}),
        ("best_response(to=linear)", "best_response(to='linear(floor=0.5)')"),
        ("mixture(of=zoo)", {"kind": "mixture", "of": list(roster(TRAIN))}),
        ("expert", f"checkpoint(path={str(EXPERT)!r}, greedy=True, one_game=True)"),
        ("expert(fallback=random)", "expert"),
        ("expert(path='nowhere.json', fallback=random)", "random"),
    ],
)
def test_identity_is_canonical(written, same):
    assert identity(written) == identity(same)


def test_an_identity_holds_every_default_and_names_the_same_player():
    assert identity("linear") == "linear(exponent=1.0, floor=0.5)"
    for spec in ("stubborn", "best_response(to=linear)", "mixture(of=[{'kind': 'nice'}, 'tough'])"):
        assert identity(identity(spec)) == identity(spec)


def test_other_parameters_weights_and_occupants_inside_are_another_player(tmp_path):
    specs = ["linear", "linear(floor=0.6)", "mixture(of=['linear'])", "mixture(of=['linear'], weights=[2])"]
    specs += [checkpoint(tmp_path / f"{seed}.json", seed=seed) for seed in (0, 1)]
    assert len({identity(spec) for spec in specs}) == len(specs)


def test_a_file_is_named_by_its_weights_wherever_it_lies(tmp_path):
    here = checkpoint(tmp_path / "here" / "a.json")
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    there = f"checkpoint(path={str(tmp_path / 'there' / 'a.json')!r})"
    assert identity(here) == identity(there) and str(tmp_path) not in json.dumps(ancestry(here).note())


def test_every_occupant_of_the_catalogue_has_an_identity_and_learned_ones_without_a_note_an_unknown_past():
    needs = {"best_response": "best_response(to=linear)", "mixture": "mixture(of=zoo)"}
    asks = {
        name for name in PARTNERS if any(p.default is p.empty for p in signature(PARTNERS[name]).parameters.values())
    }
    for name in sorted(PARTNERS.keys() - asks | needs.keys()):
        found = provenance_of(needs.get(name, name))
        assert found.identity and "/" not in found.identity.replace("openai/", "")
        if not hasattr(catalogue()[name], DECLARED) and name != "expert":
            assert found.past.unknown == ()


def test_services_have_unknown_past():
    spec = "llm(provider=openai, model=some, base_url='http://127.0.0.1:9/v1')"
    assert ancestry(spec).unknown == (ITSELF,) and "127.0.0.1" not in identity(spec)


def test_distilled_models_descend_from_teacher():
    past = ancestry("llm(provider=hf)")
    assert identity("expert") in past.descends_from
    assert {identity("random"), identity("heuristic"), *map(identity, roster(TRAIN))} <= set(past.opponents)


def test_past_includes_nested_occupants(tmp_path):
    pupil = checkpoint(tmp_path / "pupil.json", NO_PAST.add_opponents([provenance_of("mixture(of=['nice', 'tough'])")]))
    past = NO_PAST.add_opponents([provenance_of(f"mixture(of=['linear', {pupil!r}])")])
    assert {identity(spec) for spec in ("linear", "nice", "tough", pupil)} < set(past.opponents)
    steps = [label(each) for each in past.path(identity("tough"))]
    assert steps == ["mixture", f"checkpoint {identity(pupil)[-66:-54]}", "mixture", "tough"]
    assert past.unknown == ()


def test_past_survives_its_note():
    past = NO_PAST.add_parent(OccupantProvenance("a", Ancestry({"b": ITSELF}, ("c",), (ITSELF,)))).add_opponents(
        [human_dialogues("train")]
    )
    note = json.loads(json.dumps(past.note()))
    assert read_past(note) == past and set(note) == set(KEYS)
    assert past.descends_from == ("a", "c") and past.unknown == ("a",) and past.path("b") == ("a", "b")
    assert read_past({}).unknown == (ITSELF,)


def test_direct_opponents_have_direct_paths():
    through, direct = provenance_of("mixture(of=['tough'])"), provenance_of("tough")
    for past in (NO_PAST.add_opponents([through, direct]), NO_PAST.add_opponents([through]).add_opponents([direct])):
        assert past.path(identity("tough")) == (identity("tough"),)


def test_checkpoint_without_note_has_unknown_past(tmp_path):
    old = checkpoint(tmp_path / "old.json")
    assert ancestry(old).unknown == (ITSELF,)
    assert NO_PAST.add_opponents([provenance_of(old)]).unknown == (identity(old),)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("tough", "main <- tough, which"),
        ("mixture(of=['linear', 'tough'])", "main <- mixture <- tough, which"),
        ("best_response(to=tough)", "main <- best_response <- tough, which"),
        ("boulware(exponent=3)", "main <- boulware(exponent=3.0), which"),
        ("linear(exponent=3)", "main <- linear(exponent=3.0), which"),  # the same program with other defaults
        ("expert(path='nowhere.json', fallback=tough)", "main <- tough, which"),
    ],
)
def test_test_roster_refusal_names_path(spec, path):
    with pytest.raises(ProvenanceError, match="Leave out the named partner") as refusal:
        refuse_opponents(["nice", spec], "main", TEST)
    assert path in str(refusal.value)


def test_train_roster_is_allowed():
    refuse_opponents(roster(TRAIN))


def test_indirect_test_opponents_are_refused(tmp_path):
    teacher = checkpoint(tmp_path / "teacher.json", NO_PAST.add_opponents([provenance_of("tough")]))
    pupil = checkpoint(tmp_path / "pupil.json", NO_PAST.add_parent(provenance_of(teacher)), seed=1)
    assert ancestry(pupil).descends_from == (identity(teacher),)
    with pytest.raises(ProvenanceError, match=r"main <- checkpoint \w{12} <- checkpoint \w{12} <- tough"):
        refuse_opponents([pupil], "main", ["tough"])
    with pytest.raises(ProvenanceError, match=r"main <- checkpoint \w{12} <- checkpoint \w{12}, which"):
        refuse_opponents([pupil], "main", [teacher.replace("')", "', greedy=True)")])


def test_unknown_past_must_be_declared(tmp_path):
    clean, old = NO_PAST.add_opponents([provenance_of("linear")]), ancestry(checkpoint(tmp_path / "old.json"))
    assert confirm_test_unseen(clean, "mine", test=TEST).startswith("known: 1 ")
    with pytest.raises(ProvenanceError, match="were not recorded for: mine"):
        confirm_test_unseen(old, "mine", test=TEST)
    assert "declared: self-play alone" in confirm_test_unseen(old, "mine", "self-play alone", TEST)
    with pytest.raises(ProvenanceError, match="mine <- tough"):  # a declaration does not undo what is known
        confirm_test_unseen(clean.add_opponents([provenance_of("tough")]), "mine", "I promise", TEST)


def test_no_network_is_built_and_pytorch_is_not_loaded():
    code = "import sys; from partners.provenance import identity; print(identity('expert'), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=HERE)
    assert done.stdout.split() == [*identity("expert").split(), "False"]


def test_programs_include_nested_occupants():
    (time_based,), (prosocial,) = programs(Spec("linear")), programs(Spec("prosocial"))
    for name in ("boulware(floor=0.6)", "conceder(exponent=0.1, floor=0.6)", "linear(floor=0.35)"):
        assert programs(parse_spec(name)) == {time_based}
    nested = {"kind": "mixture", "of": ["trembling(of=boulware)", {"kind": "best_response", "to": "prosocial"}]}
    assert {time_based, prosocial} < programs(parse_spec(nested)) and programs(Spec("tough")).isdisjoint(
        programs(parse_spec(nested))
    )
    assert programs(Spec("trembling")) > programs(Spec("heuristic"))  # the default of its parameter
    assert programs(parse_spec("not_installed_here(of=linear)")) == {"not_installed_here"}
    assert programs(parse_spec("checkpoint(path='nowhere.json')")) == {"checkpoint"}


def test_a_file_of_scenarios_counts_by_what_it_holds(tmp_path):
    for part, entries in (("train", 0), ("test", 1)):
        path = tmp_path / f"{part}.jsonl"
        scenarios = open_source("lewis", split=part).block(0, 0, 5)
        rows = [{"counts": s.counts, "utilities": s.utilities} for s in map(scenarios.scenario, range(5))]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        assert len(held_out_scenarios(str(path))) == entries
