"""What a study says: exports without who took part, intervals that hold the truth, sizes that find the difference."""

from __future__ import annotations

import csv
import json
import math
import re

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.records.record import from_json, replay
from league.settings.read import load_config
from league.web.study.analysis import Played, clustered, line, played, read_played, table
from league.web.study.app import application
from league.web.study.assignment import assignment
from league.web.study.export import COLUMNS, export
from league.web.study.games import shuffled
from league.web.study.hall import Hall
from league.web.study.journal import Journal
from league.web.study.power import PEOPLE, Points, Question, counted, needed, of_people, simulated
from league.web.study.rehearsal import World
from league.web.study.settings import StudyConfig
from tests.command import ROOT, in_process
from tests.league.web.study.visitors import SECRET, Forms, Visitor, all_through, config

testclient = pytest.importorskip("starlette.testclient", reason="the pages come with the [ui] extra")
TYPES = {"heuristic": 0.6, "boulware": 0.4}


@pytest.fixture(scope="module")
def world():
    return World(config(games=3, conditions="[conceder, person]"), TYPES)


@pytest.fixture(scope="module")
def hall(world):
    """A study of nine simulated participants, through its pages."""
    hall = Hall(world.config, Journal(None))
    app = application(hall)
    clients = [Forms(testclient.TestClient(app, base_url="http://127.0.0.1")) for _ in range(9)]
    visitors = [Visitor(each, world.type_of(5, number), world.config) for number, each in enumerate(clients)]
    for visitor in visitors:  # they pass the check one after the other, so that each has its number
        while "Begin" not in visitor.surface.page():
            visitor.step()
    all_through(visitors)
    return hall


def test_the_games_through_the_pages_are_those_that_the_rehearsal_knows(world, hall):
    seen = {}
    for row in shuffled(hall.progress, 0).games:
        who = row.table.players[row.seat]
        seen.setdefault((row.condition, hall.progress.participants[who].place), []).append(row)
    met = {
        who.place: hall.progress.participants[who.mate].place
        for who in hall.progress.participants
        if who.mate is not None
    }
    for (condition, place), rows in seen.items():
        for row in rows:
            anchor = min(place, met.get(place, place))
            plan = assignment(world.config, anchor)
            (number,) = world._source.places(5, plan.start + row.order - 1, 1).tolist()
            other = world.type_of(5, met[place]) if condition == "person" else "conceder"
            outcome = row.table.state.outcome
            points = outcome.scores[row.seat], outcome.scores[1 - row.seat]
            assert points == world.points(world.type_of(5, place), other, number, row.seat)
    assert {condition for condition, _ in seen} == {"conceder", "person"} and len(seen) == 9


def test_an_export_names_nobody_and_its_analysis_is_the_studys(hall, tmp_path):
    written = export(hall.progress, tmp_path, 3)
    assert {path.name for path in tmp_path.iterdir()} == {*COLUMNS, "games.jsonl", "codebook.md"}
    text = "".join(path.read_text() for path in sorted(tmp_path.iterdir()))
    assert SECRET not in text and "seed" not in text and "2026" not in text and "testclient" not in text
    assert not any(who.key in text for who in hall.progress.participants)
    for name, columns in COLUMNS.items():
        with (tmp_path / name).open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == list(columns) and len(rows) == written[name]
    assert table(read_played(tmp_path)) == table(played(shuffled(hall.progress, 3)))
    for one in (tmp_path / "games.jsonl").read_text().splitlines():
        replay(from_json(json.loads(one)))
    numbers = {tuple(shuffled(hall.progress, seed).numbers) for seed in range(8)}
    assert len(numbers) > 1 and shuffled(hall.progress, 3).numbers == shuffled(hall.progress, 3).numbers
    for who in hall.progress.participants:  # the same study of other browsers: no seed tells who came first
        who.key = who.key[::-1]
    assert numbers != {tuple(shuffled(hall.progress, seed).numbers) for seed in range(8)}
    with pytest.raises(InputError, match="neither a study nor an export"):
        read_played(tmp_path / "none")


def test_an_interval_is_over_clusters():
    games = [Played(cluster, cluster, "a", float(cluster), 5.0, True) for cluster in (2, 4, 6) for _ in range(10)]
    figure = line(games).figures["to the human"]
    # Three participants with 2, 4 and 6: mean 4, standard error 2 / sqrt(3), Student's quantile of two degrees 4.3027.
    assert figure.mean == 4 and math.isclose(figure.high - 4, 4.30265 * 2 / math.sqrt(3), rel_tol=1e-4)
    assert line(games).figures["Nash product"].mean == 20 and line(games).clusters == 3
    assert math.isnan(clustered(np.array([1.0, 2.0]), [7, 7]).low)


def test_intervals_hold_the_truth_as_often_as_they_say(world):
    held = [each.held for each in world.coverage(100, 60)]
    assert 0.93 <= sum(held) / len(held) <= 0.97
    truth = world.truth("conceder")
    assert truth["joint"] == (truth["to the human"] + truth["to the agent"]) / 2
    with pytest.raises(InputError, match="too few"):
        world.coverage(3, 2)
    with pytest.raises(InputError, match="gamble"):
        World(config(conditions="[random]"), TYPES)


@pytest.mark.parametrize(("design", "n"), [("between", 52), ("within", 34)])
def test_a_study_of_the_size_that_is_needed_finds_the_difference_as_often_as_asked(design, n):
    asked = Question(1.0, 5, 0.1, design=design)
    points = of_people()
    assert needed(asked, points.sd) == n
    assert 0.75 < simulated(asked, points, n, studies=1000) < 0.86
    assert 0.03 < simulated(asked._replace(difference=1e-12), points, n, studies=1000) < 0.075


def test_the_textbook_case():
    """Cohen 1988, table 2.3.5: d = 0.5, power 0.80, two-sided 5 %, needs 64 each; by normal quantiles 63."""
    assert needed(Question(0.5, 1, 0.0), 1.0) == 63
    assert 0.77 < simulated(Question(0.5, 1, 0.0), Points(1.0), 63, studies=1000) < 0.83
    with pytest.raises(InputError, match="difference"):
        needed(Question(0.0), 1.0)


def test_the_counts_of_people_are_those_of_the_published_dialogues(data_dir):
    assert tuple(counted(data_dir).astype(int).tolist()) == PEOPLE


def test_the_commands_print_what_is_needed_and_what_was_found(tmp_path):
    power = in_process("study", "power", "--sd", "3", "--icc", "0.2", "--difference", "1")
    assert power.returncode == 0 and " 51 " in power.stdout and "given" in power.stdout
    huge = in_process("study", "power", "--sd", "3", "--icc", "0.2", "--difference", "0.001")
    assert huge.returncode == 0 and "too large to simulate" in huge.stdout
    rehearsed = in_process("study", "rehearse", "--participants", 20, "--repeats", 3, "--set", "conditions=[prosocial]")
    assert rehearsed.returncode == 0 and "of 15." in rehearsed.stdout
    for words in (("export", tmp_path), ("analyse", tmp_path), ("codes", tmp_path, tmp_path / "none")):
        done = in_process("study", *words)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    Journal(tmp_path / "journal.sqlite").close()
    (tmp_path / "handed_in").write_bytes(b"\xff\xfe")
    done = in_process("study", "codes", tmp_path, tmp_path / "handed_in")
    assert done.returncode == 2 and "no UTF-8 text" in done.stderr
    (tmp_path / "journal.sqlite").write_text("not one" * 1000)
    done = in_process("study", "export", tmp_path)
    assert done.returncode == 1 and "restore a copy" in done.stderr


def test_a_study_whose_partner_is_not_there_keeps_no_settings_and_one_without_settings_is_not_opened(tmp_path):
    partner = "conditions=[{name: a, partner: \"checkpoint(path='none.json')\"}]"
    done = in_process("study", "serve", "--port", 0, "--set", f"output_dir={tmp_path / 'new'}", "--set", partner)
    assert done.returncode != 0 and "none.json: no such checkpoint" in done.stderr
    assert not (tmp_path / "new" / "config.yaml").exists()
    Hall(config(), Journal(tmp_path / "journal.sqlite")).start()
    done = in_process("study", "serve", "--port", 0, "--set", f"output_dir={tmp_path}")
    assert done.returncode == 2 and "without its config.yaml" in done.stderr


@pytest.mark.slow
def test_the_figures_of_the_page_are_those_of_the_commands():
    page = (ROOT / "docs" / "STUDY.md").read_text()
    power = in_process("study", "power").stdout.replace("%", " %")
    for row in re.findall(r"^\| (0(?:\.\d)?) \| (\d+) \| ([\d.]+) % \| ([\d.]+) % \|$", page, re.MULTILINE):
        assert re.search(r"\s+".join(map(re.escape, (row[0], row[1], row[2], "%", row[3], "%"))), power), row
    lines = World(load_config(ROOT / "configs" / "study.yaml", (), StudyConfig)).coverage(200)
    held = [100 * each.held for each in lines]
    (told,) = re.findall(r"^\| 200 .* \| ([\d.]+) % \| ([\d.]+) to ([\d.]+) % \|$", page, re.MULTILINE)
    assert np.allclose([float(each) for each in told], [sum(held) / len(held), min(held), max(held)], atol=0.1)
