"""The scores that the README promises are those that its commands give."""

from __future__ import annotations

import re

import pytest

from league import evaluate_pair, train
from tests.documents.pages import ROOT, blocks

README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
TOLD = re.compile(r"gets ([\d.]+) ±.*?, ([\d.]+)% .*\nbest response, in these games +([\d.]+)", re.DOTALL)


def promised(pattern: str) -> list[float]:
    """The numbers in the groups of ``pattern`` where the README has it."""
    match = re.search(pattern, README)
    assert match, pattern
    return [float(number) for number in match.groups()]


def from_heuristic(member: object) -> list[float]:
    """Points of ten, their share of the best response's in percent, and the best response's points."""
    match = TOLD.search(str(evaluate_pair(member, "heuristic")))
    assert match
    return [float(number) for number in match.groups()]


@pytest.mark.slow
def test_scale_of_points_from_the_heuristic():
    number = r"([\d.]+\d)"
    scale = (
        rf"gets {number}, `heuristic` itself {number}, the shipped `expert`, .*?, {number}, "
        rf"the exact best response {number}"
    )
    results = [from_heuristic(name) for name in ("random", "heuristic", "expert")]
    means = [points for points, *_ in results] + [results[0][2]]
    assert means == pytest.approx(promised(scale), abs=0.05)


def test_first_partner_of_ones_own_gets_its_score():
    names: dict[str, object] = {"__name__": "mine"}
    exec(next(block for block in blocks(ROOT / "README.md", "python") if "@one_game" in block), names)
    points = evaluate_pair(names["concede"], "heuristic", sample=200).points.mean
    assert points == pytest.approx(*promised(r"points of ten\"\) # ([\d.]+\d)"), abs=0.005)


@pytest.mark.slow
def test_plain_ppo_gets_its_score(tmp_path):
    run = train(ROOT / "configs" / "ppo_fast.yaml", {"training.num_train_steps": 1_000_000}, folder=tmp_path)
    points = from_heuristic(run.member)[0]
    assert points == pytest.approx(*promised(r"half a minute, and its policy gets ([\d.]+\d) points"), abs=0.15)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:rich is experimental")  # tqdm's bar, of the block
def test_block_of_sb3_gets_its_score():
    pytest.importorskip("sb3_contrib")
    names: dict[str, object] = {}
    exec(next(block for block in blocks(ROOT / "README.md", "python") if ".learn(" in block), names)
    points, share, _ = from_heuristic(names["policy"])
    expected_points, expected_share = promised(r"about ([\d.]+\d) points of ten on held-out scenarios, (\d+) %")
    assert points == pytest.approx(expected_points, abs=0.2) and share == pytest.approx(expected_share, abs=2.5)
