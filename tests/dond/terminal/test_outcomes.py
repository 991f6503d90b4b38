"""What outputs open with, what members are called in them, and how networks play."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from dond.terminal.tables import print_sections
from dond_marl.dialogues.human_line import stored_human_line
from dond_marl.game import Rules
from dond_marl.occupants import short_names
from dond_marl.scenarios.sources import open_source
from league.evaluation.evaluate import evaluate
from league.evaluation.exploitability import BEST
from league.evaluation.matches import BOTH
from league.figures.rows import FigureRow, Figures
from league.results.pair import pair_sections, pair_summary
from league.tables.blocks import Report, Section, Table, report_with_short_names
from league.tables.final import final_summary
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.network import NetworkShape, PolicyNetwork
from tests.loopback import Service, completion, without_proxy_and_key

RUN = "checkpoint(path='/home/me/runs/ppo_fast/0001/checkpoints/step_000000202209.json')"
EARLIER = RUN.replace("202209", "102209")
GREEDY = RUN.replace("path=", "greedy=True, path=")


@pytest.mark.parametrize(
    ("names", "short"),
    [
        ([RUN, EARLIER, "heuristic"], ["ppo_fast/0001 step 202,209", "ppo_fast/0001 step 102,209"]),
        ([RUN, GREEDY], ["ppo_fast/0001", "ppo_fast/0001 (greedy)"]),
        ([f"best_response(to={RUN})"], ["best_response(to=ppo_fast/0001)"]),
        (["sb3(path='model.zip')"], ["sb3 model"]),
        ([RUN, RUN.replace("/home/me", "/home/you")], []),  # nothing short tells them apart
    ],
)
def test_an_occupant_that_is_named_by_a_path_has_a_short_name_of_its_own(names, short):
    assert list(short_names(names).values()) == short


@pytest.fixture(scope="module")
def spec(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("runs") / "ppo" / "0001" / "checkpoints" / "step_000000000064.json"
    path.parent.mkdir(parents=True)
    network = PolicyNetwork(NetworkShape(hidden=(8,)), seed=1)
    weights = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    save_checkpoint(path, weights, network_note(network))
    return f"checkpoint(path='{path}')"


def printed(evaluation, width: int = 160) -> str:
    console = Console(width=width, file=io.StringIO(), highlight=False)
    print_sections(console, pair_sections(evaluation, stored_human_line()))
    return console.file.getvalue()


def test_evaluation_names_the_protocol_of_each_network(spec):
    source, greedy = open_source("lewis", split="paper_test"), spec.replace(")", ", greedy=True)")
    text = printed(evaluate(spec, "linear", source, Rules(), sample=8))
    assert "ppo/0001 (sampled)" in text
    assert text.count(spec) == 1 and f"ppo/0001 is {spec}." in " ".join(text.split())
    told = evaluate(greedy, "linear", source, Rules(max_turns=2), sample=4)
    assert told.protocols == {told.member: "greedy"} and "(greedy) gets" in pair_summary(told)[0]
    mixed = evaluate({"kind": "mixture", "of": [spec, "linear"]}, "linear", source, Rules(max_turns=2), sample=4)
    assert mixed.protocols == {mixed.member: "sampled"}


def test_member_without_decisions_of_its_own_has_no_points(monkeypatch):
    without_proxy_and_key(monkeypatch)
    service = Service(lambda heard, number: completion("no act"))
    try:
        spec = f"llm(provider=openai, base_url='{service.url}', model=any, structure=text)"
        evaluation = evaluate(spec, "linear", open_source("lewis"), Rules(max_turns=2), sample=2)
    finally:
        service.close()
    (sentence,) = pair_summary(evaluation)
    assert " gets " not in sentence and " none " in sentence


def test_gap_to_the_best_response_is_split_into_lost_and_worse_deals():
    told = evaluate("stubborn", "linear", open_source("lewis", split="paper_test"), Rules(max_turns=4), sample=60)
    best, played = told.best.figures[BOTH], told.played.figures[BOTH]
    sentences = pair_summary(told)
    assert len(sentences) == 3 and f"{told.shares[BEST][BOTH].mean:.1%}" in sentences[0]
    numbers = [
        float(word.rstrip(",:.")) for word in sentences[2].split() if word.rstrip(",:.").replace(".", "").isdigit()
    ]
    gap, unclosed, worse, first, second = numbers
    assert gap == pytest.approx(best.points.mean - played.points.mean, abs=0.01)
    assert unclosed + worse == pytest.approx(gap, abs=0.02) and (first + second) / 2 == pytest.approx(gap, abs=0.02)


def test_a_final_evaluation_names_what_a_best_response_takes_and_the_worst_cell():
    rows = (
        FigureRow("main", "", "proximity, mean", "", 0.748, 0.7, 0.8, 9, "share"),
        FigureRow("main", "tough", "share", "seat_0", 0.177, 0.1, 0.2, 9, "share"),
        FigureRow("main", "tough", "share", "seat_1", 0.9, 0.8, 1.0, 9, "share"),
        FigureRow("main", "best response", "gain", "seat_0", 0.7, 0.7, 0.7, note="exact"),
        FigureRow("main", "best response", "gain", "seat_1", 2.17, 2.17, 2.17, note="exact"),
    )
    first, second = final_summary(Figures({"members": ["main"]}, rows))
    assert re.findall(r"\d\.\d\d", first) == ["0.70", "2.17"]
    assert re.findall(r"[\d.]+%", second) == ["74.8%", "17.7%"] and second.endswith(" tough as seat_0.")
    assert final_summary(Figures({"members": []}, ())) == ()


def test_a_report_for_people_says_a_spec_once():
    section = Section("s", f"{RUN} first", (f"{RUN} and heuristic",), (Table(f"{RUN} again", (), ()),))
    told = report_with_short_names(Report("t", "s", 0.95, (section,), abstract=(f"{RUN} leads.",)), [RUN, "heuristic"])
    assert str(told).count("step_000000202209") == 1 and told.abstract == ("ppo_fast/0001 leads.",)
    assert told.sections[0].notes[-1] == f"ppo_fast/0001 is {RUN}."
