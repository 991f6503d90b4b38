"""Export, analysis and power of a study, and their commands."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter

import numpy as np
import pytest

from dond.study.analysis import (
    PEOPLE,
    PowerQuestion,
    StudyGame,
    clustered_mean,
    finished_games,
    read_games,
    sample_size,
    sd_of_people,
    summarise,
)
from dond.study.export import COLUMNS, anonymise, export_study
from dond.study.journal import Journal
from dond.study.pages import application
from dond.study.running_study import RunningStudy
from dond_marl.dialogues.human_line import selection
from dond_marl.errors import InputError
from dond_marl.game import worth
from dond_marl.records.record import from_json, replay
from dond_marl.scenarios.data import DIALOGUE_SPLITS, load_dialogues
from tests.command import ROOT, in_process
from tests.dond.study.visitors import SECRET, Forms, Visitor, all_through, config, kind_of, scores_by_rollout

testclient = pytest.importorskip("starlette.testclient", reason="the pages come with the [ui] extra")


@pytest.fixture(scope="module")
def study():
    """A study of nine simulated participants, through its pages."""
    settings = config(games=2, conditions="[conceder, person]")
    study = RunningStudy(settings, Journal(None))
    app = application(study)
    clients = [Forms(testclient.TestClient(app, base_url="http://127.0.0.1")) for _ in range(9)]
    visitors = [Visitor(each, kind_of(number), settings) for number, each in enumerate(clients)]
    for visitor in visitors:  # they pass the check one after the other, so that each has its number
        while "Begin" not in visitor.surface.page():
            visitor.step()
    all_through(visitors)
    return study


@pytest.mark.slow
def test_page_games_equal_rollouts(study):
    games = anonymise(study.progress, 0).games
    assert [row.table.state.outcome.scores for row in games] == [scores_by_rollout(row.table) for row in games]
    assert {row.condition for row in games} == {"conceder", "person"} and len({row.participant for row in games}) == 9


def test_export_is_anonymous_and_complete(study, tmp_path):
    written = export_study(study.progress, tmp_path, 3)
    assert {path.name for path in tmp_path.iterdir()} == {*COLUMNS, "games.jsonl", "codebook.md"}
    text = "".join(path.read_text() for path in sorted(tmp_path.iterdir()))
    assert SECRET not in text and "seed" not in text and "2026" not in text and "testclient" not in text
    assert not any(who.key in text for who in study.progress.participants)
    for name, columns in COLUMNS.items():
        with (tmp_path / name).open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == list(columns) and len(rows) == written[name]
    assert summarise(read_games(tmp_path)) == summarise(finished_games(anonymise(study.progress, 3)))
    for one in (tmp_path / "games.jsonl").read_text().splitlines():
        replay(from_json(json.loads(one)))
    numbers = {tuple(anonymise(study.progress, seed).numbers) for seed in range(8)}
    assert len(numbers) > 1 and anonymise(study.progress, 3).numbers == anonymise(study.progress, 3).numbers
    for who in study.progress.participants:  # the same study of other browsers: no seed tells who came first
        who.key = who.key[::-1]
    assert numbers != {tuple(anonymise(study.progress, seed).numbers) for seed in range(8)}
    with pytest.raises(InputError, match=r"games\.csv"):
        read_games(tmp_path / "none")


def test_intervals_are_over_clusters():
    games = [StudyGame(cluster, cluster, "a", float(cluster), 5.0, True) for cluster in (2, 4, 6) for _ in range(10)]
    figure = summarise(games)["a"].figures["to the human"]
    # Three participants with 2, 4 and 6: mean 4, standard error 2 / sqrt(3), Student's quantile of two degrees 4.3027.
    assert figure.mean == 4 and math.isclose(figure.high - 4, 4.30265 * 2 / math.sqrt(3), rel_tol=1e-4)
    assert summarise(games)["a"].figures["Nash product"].mean == 20 and summarise(games)["a"].clusters == 3
    assert math.isnan(clustered_mean(np.array([1.0, 2.0]), [7, 7]).low)


@pytest.mark.parametrize(("design", "n"), [("between", 52), ("within", 34)])
def test_sample_size_by_design(design, n):
    assert sample_size(PowerQuestion(1.0, 5, 0.1, design=design), sd_of_people()) == n


def test_sample_size_of_cohen():
    """Cohen 1988, table 2.3.5: d = 0.5, power 0.80, two-sided 5 %, needs 64 each; by normal quantiles 63."""
    assert sample_size(PowerQuestion(0.5, 1, 0.0), 1.0) == 63


def test_counts_of_published_dialogues(data_dir):
    points = Counter[int]()
    for row in (row for split in DIALOGUE_SPLITS for row in load_dialogues(split, data_dir)):
        selected, (first, second, third) = selection(row), row.my_values
        points[0 if selected is None else worth((first, second, third), selected)] += 1
    assert tuple(points[number] for number in range(11)) == PEOPLE


def test_commands(tmp_path):
    power = in_process("study", "power", "--sd", "3", "--icc", "0.2", "--difference", "1")
    assert power.returncode == 0 and " 51 " in power.stdout and "given" in power.stdout
    for words in (("export", tmp_path), ("analyse", tmp_path), ("export", tmp_path, "--codes", tmp_path / "none")):
        done = in_process("study", *words)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    Journal(tmp_path / "journal.sqlite").close()
    (tmp_path / "handed_in").write_bytes(b"\xff\xfe")
    done = in_process("study", "export", tmp_path, "--codes", tmp_path / "handed_in")
    assert done.returncode == 2 and "UTF-8" in done.stderr
    (tmp_path / "journal.sqlite").write_text("not one" * 1000)
    done = in_process("study", "export", tmp_path)
    assert done.returncode == 1 and "journal.sqlite" in done.stderr


def test_serve_refuses_missing_partner_or_settings(tmp_path):
    partner = "conditions=[{name: a, partner: \"checkpoint(path='none.json')\"}]"
    done = in_process("study", "serve", "--port", 0, "--set", f"output_dir={tmp_path / 'new'}", "--set", partner)
    assert done.returncode != 0 and "none.json" in done.stderr
    assert not (tmp_path / "new" / "config.yaml").exists()
    RunningStudy(config(), Journal(tmp_path / "journal.sqlite")).start()
    done = in_process("study", "serve", "--port", 0, "--set", f"output_dir={tmp_path}")
    assert done.returncode == 2 and "config.yaml" in done.stderr


def test_documented_sample_sizes():
    page = (ROOT / "docs" / "STUDY.md").read_text()
    power = in_process("study", "power").stdout
    rows = re.findall(r"^\| (0(?:\.\d)?) \| (\d+) \|$", page, re.MULTILINE)
    assert rows and all(re.search(rf"\b{re.escape(icc)} +{n}\b", power) for icc, n in rows)
