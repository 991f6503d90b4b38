"""From a name to an occupant."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.errors import UntrustedError
from dond_marl.occupants import (
    ANYTHING,
    OccupantNameError,
    Permission,
    Spec,
    catalogue,
    check_needs,
    parse_spec,
    seat_occupant,
)
from partners.scripted.heuristic import Heuristic
from partners.scripted.time_based import Boulware
from tests.third_party import install as install_in


@pytest.mark.parametrize(
    ("spec", "partner"),
    [
        ("heuristic", Heuristic()),
        ("heuristic(demand=.7, accept_ratio=0.6)", Heuristic(demand=0.7, accept_ratio=0.6)),
        ("boulware(exponent=4)", Boulware(exponent=4)),
        ({"kind": "boulware", "exponent": 5, "floor": 0.25}, Boulware(exponent=5, floor=0.25)),
    ],
)
def test_name_call_and_mapping_are_one_spec(spec, partner):
    assert seat_occupant(spec) == partner


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("huristic", "no occupant is called 'huristic'.*did you mean 'heuristic'"),
        ("zzz", "no occupant is called 'zzz'; dond catalogue lists all \\d+"),
        ("boulware(exponet=3)", "'boulware' does not take 'exponet'; it takes exponent, floor"),
        ("boulware(exponent=-1)", "exponent must be a number more than 0; got -1"),
        ("heuristic(", "is written name or name"),
        ("__import__('os')", "is written name or name"),
        (7, "is a name, a mapping with 'kind', or a partner; got int: 7"),
        ("checkpoint(path=runs/0001/last.json)", r"texts go in quotes, as in checkpoint\(path='FILE.json'\)"),
    ],
)
def test_invalid_spec(spec, told):
    with pytest.raises(OccupantNameError, match=told):
        seat_occupant(spec)


@pytest.mark.parametrize(
    ("spec", "written"),
    [
        ("heuristic", "heuristic"),
        ("boulware( floor = .5,exponent=4 )", "boulware(exponent=4, floor=0.5)"),
        ({"kind": "boulware", "floor": 0.5, "exponent": 4}, "boulware(exponent=4, floor=0.5)"),
        ("best_response(to=heuristic)", "best_response(to=heuristic)"),
        ("mixture(of=[linear, pushover(demand=.5)])", "mixture(of=['linear', 'pushover(demand=0.5)'])"),
        ("expert(path='runs/a b.safetensors')", "expert(path='runs/a b.safetensors')"),
        ({"kind": "expert", "path": "True", "name": "None"}, "expert(name='None', path='True')"),
        ({"kind": "expert", "path": "true", "name": "null"}, "expert(name='null', path='true')"),
        (
            "llm(extra={'a': null, 'b': [true, 2]}, sorted_items=false)",
            "llm(extra={'a': None, 'b': [True, 2]}, sorted_items=False)",
        ),
    ],
)
def test_canonical_spec_reads_back(spec, written):
    assert parse_spec(spec).text == written
    assert parse_spec(written) == parse_spec(spec)
    assert parse_spec(written).text == written


def test_an_occupant_may_name_another_which_stays_text():
    spec = parse_spec("best_response(to=boulware(exponent=4), depth=2)")
    assert (spec.kind, spec.parameters) == ("best_response", {"to": "boulware(exponent=4)", "depth": 2})
    assert seat_occupant(spec.parameters["to"]) == Boulware(exponent=4)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a tiny distribution, a module and its entry points, for one test."""

    def install(entry_points: str, source: str = "") -> None:
        monkeypatch.syspath_prepend(str(install_in(tmp_path, "my_partners", source, entry_points)))
        catalogue.cache_clear()

    yield install
    sys.modules.pop("my_partners", None)
    catalogue.cache_clear()


SOURCE = """
from partners.scripted.heuristic import Heuristic

def generous(share=0.3):
    return Heuristic(accept_ratio=share)

MORE = {"kind_one": Heuristic, "alpha": generous}
"""


def test_installed_package_adds_an_occupant(installed):
    installed("generous = my_partners:generous", SOURCE)
    assert seat_occupant("generous") == Heuristic(accept_ratio=0.3)
    assert seat_occupant("generous(share=0.1)") == Heuristic(accept_ratio=0.1)
    assert "heuristic" in catalogue()


def test_an_installed_package_adds_a_whole_catalogue(installed):
    installed("mine = my_partners:MORE", SOURCE)
    assert seat_occupant("kind_one") == Heuristic()
    assert "mine" not in catalogue()
    assert list(catalogue()) == sorted(catalogue())


def test_a_name_that_is_taken_is_refused(installed):
    installed("heuristic = my_partners:generous", SOURCE)
    with pytest.raises(OccupantNameError, match=r"registers heuristic in dond_marl\.partners, which is taken already"):
        seat_occupant("heuristic")


def test_broken_entry_point_hides_no_other_name(installed):
    installed("lost = no_such_module:Lost\nodd = my_partners:Odd", "class Odd:\n    pass\n")
    assert isinstance(seat_occupant("heuristic"), Heuristic)
    with pytest.raises(OccupantNameError, match="'lost' cannot be used: no_such_module:Lost does not load"):
        seat_occupant("lost")
    with pytest.raises(OccupantNameError, match="'odd' is no partner: Odd"):
        seat_occupant("odd")


def test_a_factory_may_take_any_parameters_and_fail_in_its_own_way(installed):
    source = "def any_of(**parameters):\n    raise RuntimeError('no weights for ' + parameters['of'])\n"
    installed("any_of = my_partners:any_of", source)
    with pytest.raises(OccupantNameError, match=r"^'any_of' cannot be made: no weights for me \(RuntimeError\)$"):
        seat_occupant("any_of(of=me)")


_TEXTS = st.text(max_size=12) | st.sampled_from(
    ["llm", "\uff4c\uff4c\uff4d", "True", "null", "a(b=1)", "f.py:P", "x, y=1"]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)
_NAMES = _TEXTS | st.from_regex(r"[a-z_]{1,8}", fullmatch=True) | st.just("of='f.py:P', rate")


@given(st.builds(lambda kind, rest: {**rest, "kind": kind}, _NAMES, st.dictionaries(_NAMES, _VALUES, max_size=3)))
def test_text_and_mapping_parse_alike(spec):
    try:
        text = parse_spec(spec).text
    except OccupantNameError:
        return
    assert parse_spec(text) == parse_spec(spec) and parse_spec(text).text == text


@pytest.mark.parametrize(
    "spec",
    [
        {"kind": "trembling", "of='f.py:P', rate": 0.1},
        {"kind": "boulware", "exponent": float("inf")},
        "\u00e9",
    ],
)
def test_names_that_have_no_text_are_refused(spec):
    with pytest.raises(OccupantNameError):
        parse_spec(spec)


@pytest.mark.parametrize(
    ("spec", "needs"),
    [
        ("boulware(exponent=4)", ""),
        ("mixture(of=[boulware, heuristic(demand=0.5)])", ""),
        ("expert(kind=supervised)", ""),
        ("checkpoint(path='runs/a/step.json', greedy=True)", "file"),
        ("expert(path='a.json', fallback='my.py:P')", "code file"),
        ("my.py:Partner(rate=2)", "code"),
        ("best_response(to='my.py:Partner')", "code"),
        ("mixture(of=[boulware, \"trembling(of='my.py:P')\"])", "code"),
        ("human(interface='module:Name')", "code"),
        ("negmas(agent='a.B', python='python3')", "code"),
        ("llm", "service key"),
        ("\uff4c\uff4c\uff4d", "service key"),  # letters of full width, which Python reads as llm
        ("llm(prompt_path='prompt.txt', cache='replies.sqlite')", "file service key"),
        ("llm(provider=hf, model='/home/other/model')", "file service key"),
    ],
)
def test_needs_of_a_spec(spec, needs):
    assert parse_spec(spec).needs == set(needs.split())


def test_weights_in_a_folder_need_no_permission(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    Path("run/link.json").symlink_to(tmp_path / "outside.json")
    allow = Permission(folders=(Path("run"),))
    inside = parse_spec("best_response(to=\"checkpoint(path='run/main.json')\")")
    check_needs([inside, Spec("tough")], allow, "run")
    for path in ("outside.json", "run/../outside.json", "run/link.json", "run/a\0b.json"):
        with pytest.raises(UntrustedError):
            check_needs([Spec("checkpoint", {"path": path})], allow, "run")
    with pytest.raises(UntrustedError):  # other packages may unpickle it
        check_needs([Spec("other_package", {"path": "run/main.json"})], allow, "run")
    check_needs([parse_spec("my.py:P"), Spec("llm")], ANYTHING, "run")


def test_spec_is_a_frozen_value():
    spec = parse_spec("boulware( exponent = 4 )")
    assert (spec.text, spec.kind, dict(spec.parameters)) == ("boulware(exponent=4)", "boulware", {"exponent": 4})
    assert spec == Spec("boulware", {"exponent": 4}) == pickle.loads(pickle.dumps(spec)) == copy.deepcopy(spec)
    assert spec.with_parameters(exponent=2).without("exponent") == "boulware" and parse_spec(spec) is spec
    with pytest.raises(AttributeError):
        spec.kind = "linear"
    with pytest.raises(TypeError):
        spec.parameters["exponent"] = 2
