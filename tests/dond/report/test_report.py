"""Report on a league: figures equal those of the run's files, HTML and JSON agree, and the page loads nothing."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from markupsafe import escape

from dond.cli.main import main
from dond.cli.report import FORMATS
from dond.report.collect import read_facts
from dond.report.render import cell_parts
from dond.report.sections import report_of
from dond_marl import __version__
from dond_marl.dialogues.human_line import stored_human_line
from dond_marl.errors import Notice
from dond_marl.records.record import from_json, replay
from dond_marl.records.transcript import phrase_act
from dond_marl.solvers.efficiency import efficiency
from dond_marl.statistics import Estimate
from league.evaluation.of_run import NothingToEvaluate, evaluate_run
from league.figures.rows import Figure
from league.ledger.ledger import Ledger, LedgerError, ReadLedger
from league.ledger.run_directory import RunError, command_line, find_run
from league.tables.blocks import Curves, Dialogue, Table, number_cell, printable
from league.tables.figures import format_cell
from league.tables.final import read_final
from tests.command import in_process
from tests.dond.web.browser import HOSTILE, as_after
from tests.killing import run as run_league
from tests.loopback import Page, Service, completion

ROOT = Path(__file__).resolve().parents[3]
POINTS, DEALS = "points of ten", "share of games with a deal"  # headings of tables


@pytest.fixture(scope="module")
def report(finished_league):
    return printable(report_of(read_facts(finished_league)))


@pytest.fixture(scope="module")
def document(report):
    return json.loads(FORMATS["json"](report))["sections"]


@pytest.fixture(scope="module")
def html(report):
    return FORMATS["html"](report)


def table(document, section, place=0):
    found = [block for block in document[section]["blocks"] if "table" in block]
    return found[place]["rows"]


def file(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def near(figure, digits):
    """Whether a figure of the document equals the digits in one of the run's own files."""
    if digits in ("", "nan"):
        return figure is None or figure["value"] is None
    return math.isclose(figure["value"], float(digits), abs_tol=1e-6)


def test_ladder_and_crossplay_equal_the_run_files(document, finished_league):
    ladder = {row["member"]: row for row in table(document, "ladder")}
    own = file(finished_league / "ladder.csv")
    assert list(ladder) == [row["member"] for row in own]
    for row in own:
        shown = ladder[row["member"]]
        assert near(shown[POINTS], row["points"])
        assert math.isclose(shown[POINTS]["low"], float(row["points_low"]), abs_tol=1e-6)
        assert shown[POINTS]["n"] == int(row["games"])
        assert near(shown["deals"], row["deal_rate"])
        assert near(shown["of Nash"], row["of_nash"])
        left = shown["left to partner"]
        assert near(left, row["left_to_partner"])
        assert near(shown["against itself"], row["self_play"])
        acts = shown["acts per game"]
        assert near(acts, row["turns"]) and acts["unit"] == "acts"
    cross = {row["member"]: row for row in table(document, "crossplay")}
    cells = file(finished_league / "crossplay.csv")
    assert len(cells) == len(ladder) ** 2
    for cell in cells:
        shown = cross[cell["member"]][cell["against"]]
        assert near(shown, cell["points"])
        assert shown["n"] == int(cell["games"])


def test_learning_and_meta_game_equal_the_run_files(document, finished_league):
    points, own = document["learning"]["blocks"][0]["points"], file(finished_league / "learning.csv")
    assert len(points) == len(own) > 3
    for point, row in zip(points, own, strict=True):
        assert (point["member"], point["after_rounds"]) == (row["member"], int(row["after_rounds"]))
        assert near(point["points"], row["points"]) and point["points"]["n"] == int(row["games"])
    ratings = {row["member"]: row for row in table(document, "meta-game")}
    for row in file(finished_league / "ratings.csv"):
        assert near(ratings[row["member"]]["take"], row["take"])
        assert near(ratings[row["member"]]["deviation as seat_1"], row["deviation_seat_1"])
    mixtures = {row["mixture"]: row["regret gap"] for row in table(document, "meta-game", 1)}
    gaps = {row["member"]: row for row in file(finished_league / "meta_game.csv") if row["figure"] == "regret gap"}
    assert gaps.keys() == mixtures.keys() and all(near(mixtures[name], row["value"]) for name, row in gaps.items())


def test_evaluation_equals_the_run_file_and_includes_people(document, finished_league):
    figures = read_final((finished_league / "evaluation.json").read_text())
    opponents = {row["against"]: row for row in table(document, "evaluation", 1)}
    assert set(opponents) == set(figures.opponents("main", "share")) == {"boulware"}
    for name, row in opponents.items():
        assert row[POINTS]["value"] == figures.row("main", name, "points").value
        assert row[POINTS]["n"] == 2 * figures.terms["scenarios"]["number"]
        assert row["share as seat_0"]["value"] == figures.row("main", name, "share", "seat_0").value
    lines = {row["who"]: row for row in table(document, "evaluation", 2)}
    itself = lines["main, against itself"]
    assert itself[POINTS]["value"] == figures.row("main", "main", "points").value
    people = stored_human_line().figures
    assert lines["humans"][POINTS] == {
        "value": people["score"].mean, "low": people["score"].low, "high": people["score"].high,
        "n": people["score"].n, "unit": POINTS,
    }  # fmt: skip
    assert lines["humans"]["as seat_0"]["value"] == people["first"].mean
    pareto = lines["humans"]["Pareto-optimal of deals"]
    assert pareto["value"] == people["pareto_of_deals"].mean
    assert lines["Nash"]["Nash efficiency"]["value"] == 1
    labels = [row["figure"] for row in table(document, "evaluation")]
    assert labels == [label.strip() for label in labels]


def test_stages_snapshots_and_gates_have_reasons(document, finished_league):
    stages = table(document, "curriculum")
    assert [(row["stage"], re.findall(r"\d", row["rounds"]), re.findall(r"\d", row["ended"])) for row in stages] == [
        ("short games", ["1", "2"], ["2"]),
        ("league", ["3", "4"], []),
    ]
    assert [bool(row["why"]) for row in stages] == [True, False]
    with Ledger(finished_league / "ledger.sqlite") as ledger:
        decided = [(n, one) for n in range(ledger.next_round) for one in ledger.decisions(n) if one.kind != "stage"]
        members = ledger.members()
    shown = [(row["when"], row["what"], row["why"]) for row in table(document, "lineage", 1)]
    assert shown == [(f"round {n + 1}", one.in_words, one.reason) for n, one in decided]
    family = {row["member"]: row for row in table(document, "lineage")}
    assert set(family) == {m.name for m in members if m.live or m.role == "snapshot"}
    born = [(n, one) for n, one in decided if one.taken]
    assert [family[f"main@{n + 1}"]["why"] for n, one in born] == [one.reason for _, one in born]


def test_games_are_extreme_and_replay_to_the_ledger(document, report, finished_league):
    games = [block for block in document["games"]["blocks"] if "game" in block]
    best, worst, broken = (
        [game for game in games if game["game"].startswith(kind)]
        for kind in ("Most efficient", "Least efficient deal", "No deal")
    )
    assert len(best) == 3 and worst and broken
    reached, number_of_games, deals = [], 0, 0
    with Ledger(finished_league / "ledger.sqlite") as ledger:
        for number in range(ledger.next_round):
            scenarios = ledger.scenarios(number)
            for leg in ledger.legs(number):
                found = efficiency(scenarios, leg.facts["scores"], leg.facts["deal"])
                number_of_games, deals = number_of_games + found.size, deals + int(found.deal.sum())
                for row in range(found.size if leg.seats[0] != leg.seats[1] else 0):
                    key = (leg.seats, scenarios.scenario(row), leg.facts["scores"][row].tolist())
                    reached.append((key, bool(found.deal[row]), bool(found.pareto[row]), float(found.welfare[row])))
    by_key = {(key[0], key[1], tuple(key[2])): welfare for key, *_, welfare in reached}
    for game in games:
        record = from_json(game["record"])
        assert replay(record).outcome == record.outcome
        welfare = by_key[record.occupants, record.scenario, record.outcome.scores]
        assert math.isclose(game["measures"]["welfare efficiency"]["value"], welfare, abs_tol=1e-9)
        acts = [(line["seat"], line["words"]) for line in game["acts"]]
        counts = record.scenario.counts
        assert acts == [
            (turn % 2, phrase_act(action, counts, variant=turn, final=True))
            for turn, action in enumerate(record.actions)
        ]
    assert best[0]["measures"]["welfare efficiency"]["value"] == max(w for _, deal, _, w in reached if deal)
    least = min(w for _, deal, pareto, w in reached if deal and not pareto)
    assert math.isclose(worst[0]["measures"]["welfare efficiency"]["value"], least, abs_tol=1e-9)
    assert all(not game["record"]["outcome"]["allocation"] for game in broken)
    pairs = [frozenset(game["record"]["occupants"]) for game in best]
    assert len(set(pairs)) == len(pairs)
    every = {row["figure"]: row["value"] for row in table(document, "games")}
    assert every[DEALS]["n"] == number_of_games
    assert math.isclose(every[DEALS]["value"], deals / number_of_games)


def test_provenance_seed_hashes_seals(document, finished_league):
    shown = {row["what"]: row["value"] for row in table(document, "provenance")}
    with Ledger(finished_league / "ledger.sqlite") as ledger:
        assert ledger.fingerprint() in shown["ledger"]
        assert shown["scenarios"] == ledger.meta()["source"]
        rounds = ledger.next_round
    assert shown["seed"] == "3"
    assert shown["seals"].startswith(f"all {rounds + 1} hold")
    assert shown["weights"].split()[0] == shown["weights"].split()[2]
    assert "evaluation.json" in shown and shown["python"].startswith(sys.version.split()[0])
    settings = next(block["content"] for block in document["provenance"]["blocks"] if "text" in block)
    assert "rounds: 4" in settings and str(finished_league) not in settings


def test_provenance_start_of_run(document, finished_league):
    shown = {row["what"]: row["value"] for row in table(document, "provenance", -1)}
    with Ledger(finished_league / "ledger.sqlite") as ledger:
        cached = json.loads(ledger.notes()["origin"])
    assert shown["date"] == cached["started"] and shown["date"].endswith(" UTC")
    assert shown["command line"] == cached["command"] == command_line(sys.argv)
    assert shown["package version"] == __version__ and int(shown["cores"]) >= 1
    assert shown.get("git commit", "None").split(",")[0] == str(cached["commit"])


def changed_copy(finished_league, folder: Path, statement: str) -> Path:
    """A copy of the run, without its other files, whose ledger was changed by ``statement``."""
    folder.mkdir(parents=True)
    shutil.copy(finished_league / "ledger.sqlite", folder)
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as ledger, ledger:
        ledger.execute(statement)
    return folder


def test_changed_rows_and_missing_weights(finished_league, tmp_path):
    folder = changed_copy(
        finished_league,
        tmp_path / "0001",
        "UPDATE states SET points = points + 1 WHERE round = 2 AND points IS NOT NULL",
    )
    with pytest.warns(Notice):
        document = json.loads(FORMATS["json"](report_of(read_facts(folder))))["sections"]
    shown = {row["what"]: row["value"] for row in table(document, "provenance")}
    assert "BROKEN" in shown["seals"] and "round 3" in shown["seals"] and "--resume" in shown["seals"]
    assert shown["weights"].startswith("0 of")
    for game in (block for block in document["games"]["blocks"] if "game" in block):
        assert not any(name.startswith("main") for name in game["record"]["occupants"])


def test_page_is_self_contained(html):
    assert not re.search(r"<(script|link|img|iframe|object|embed|form|base)\b", html)
    links = re.findall(r'\b(?:href|src)="([^"]*)"', html)
    assert all(value.startswith(("#", "data:image/svg+xml;base64,")) for value in links)
    assert "url(" not in html and "@import" not in html and "http:" not in html and "https:" not in html
    assert "default-src 'none'" in html


def test_page_holds_every_figure(report, html):
    tables = [block for section in report.sections for block in section.blocks if isinstance(block, Table)]
    rows = [row for table in tables if table.kind != "heat" for row in table.rows]
    figures = [cell_parts(cell) for row in rows for cell in row.cells if isinstance(cell, Figure)]
    assert len(figures) > 100 and all(part.value in html and part.interval in html for part in figures)


def test_hostile_names_are_escaped(html):
    assert "<img" not in html and "<script" not in html
    assert all(escape(name) in html for name in HOSTILE)


def test_share_with_a_full_interval_is_unknown():
    unknown = Figure(Estimate(0.4, 20, 0.0, 1.0), "share")
    assert cell_parts(unknown).interval == "too few games to tell"
    assert cell_parts(unknown._replace(estimate=Estimate(0.4, 20, 0.1, 1.0))).interval == "10.0% to 100.0%"
    assert cell_parts(Figure(Estimate(math.nan, 0, 0.1, 0.3)))[:2] == ("0.10 to 0.30", "")  # bounds alone


def test_format_cell():
    assert format_cell(Figure(Estimate(7.314, 6272, 7.15, 7.47))) == "7.31 (7.15..7.47; n 6,272)"
    assert format_cell(number_cell(0.5, "share", 3)) == "50.0% (n 3)"
    assert format_cell(Figure(Estimate(math.nan, 0, 0.2, 0.4))) == "0.20..0.40"
    assert format_cell(number_cell(math.nan)) == format_cell(None) == "-"
    assert format_cell(number_cell(12345, "count")) == "12,345"
    assert format_cell(Figure(Estimate(-0.001, 0, -0.2, 0.0))) == "0.00 (-0.20..0.00)"


def test_running_league_is_read_from_a_snapshot(finished_league, tmp_path):
    folder = tmp_path / "0001"
    as_after(finished_league, 2, folder)
    shutil.copytree(finished_league / "blobs", folder / "blobs")
    with closing(sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO notes VALUES ('not yet', 'committed')")
        shown = report_of(read_facts(folder))
        with ReadLedger(folder / "ledger.sqlite") as ledger, ledger.snapshot():
            assert ledger.next_round == 2 and "not yet" not in ledger.notes()
            writer.execute("COMMIT")
            assert "not yet" not in ledger.notes()
    assert shown.summary.startswith("So far 2 of 4 rounds") and "2 of 4" in dict(shown.abstract)["Unfinished"]
    sections = {section.key: section for section in shown.sections}
    for key in ("meta-game", "evaluation"):
        assert f"--resume {folder}" in sections[key].notes[0] and "not over" in sections[key].notes[0]
    assert sections["evaluation"].blocks[0].rows[0].label == "humans"
    assert isinstance(sections["learning"].blocks[0], Curves)
    assert any(isinstance(block, Dialogue) for block in sections["games"].blocks)
    stages = sections["curriculum"].blocks[0].rows
    assert [row.cells[1] for row in stages] == ["1 to 2", "not yet"]
    for write in FORMATS.values():
        assert write(shown)


def test_missing_run_files_name_the_command(finished_league, tmp_path):
    folder = tmp_path / "0001"
    shutil.copytree(finished_league, folder)
    for name in ("meta_game.json", "evaluation.json"):
        (folder / name).unlink()
    sections = {section.key: section for section in report_of(read_facts(folder)).sections}
    assert f"--resume {folder}" in sections["meta-game"].notes[0]
    command = f"dond evaluate --run {folder} --json {folder / 'evaluation.json'}"
    assert sections["evaluation"].notes[0].endswith(command)
    for name in ("meta_game.json", "evaluation.json"):
        (folder / name).write_text('{"members": {"main": {}}, "figures": []}')
    sections = {section.key: section for section in report_of(read_facts(folder)).sections}
    for key in ("meta-game", "evaluation"):
        assert "is damaged" in sections[key].notes[0]


def test_unreadable_runs_fail_as_in_the_evaluation(finished_league, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    damaged = tmp_path / "0001"
    damaged.mkdir()
    content = bytearray((finished_league / "ledger.sqlite").read_bytes())
    content[4096 * 3 : 4096 * 12] = bytes(4096 * 9)
    (damaged / "ledger.sqlite").write_bytes(content)
    for folder, words, code in (
        (tmp_path / "empty", "was stopped before it began", 2),
        (ROOT / "docs", "docs", 2),
        (tmp_path / "nowhere", "nowhere", 2),
        (damaged, "the ledger is damaged", 1),
    ):
        assert main(["report", "--run", str(folder)]) == code
        error = capsys.readouterr().err.strip()
        assert words in error
        with pytest.raises((RunError, LedgerError, NothingToEvaluate)) as shown:
            evaluate_run(find_run(folder))
        assert error == str(shown.value)
    assert main(["report", "--run", str(finished_league), "--out", str(tmp_path / "nowhere" / "report.html")]) == 2
    assert "--out" in capsys.readouterr().err


def test_report_command_writes_the_file(finished_league, tmp_path, capsys):
    done = in_process("report", "--run", finished_league.parent, "--out", "r.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert shown.startswith("In short: ") and "written: r.html next: " in shown and " web --run " in shown
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert main(["report", "--run", str(finished_league), "--format", "json", "--out", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "League runs/0001"
    shutil.copytree(finished_league, tmp_path / "0002")
    assert main(["report", "--run", str(tmp_path), "--format", "json"]) == 0
    assert (tmp_path / "0002" / "report.json").is_file()


@pytest.mark.filterwarnings("ignore:the model 'm':RuntimeWarning")  # what failed is shown once
def test_model_calls_tokens_and_fallbacks(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def answer(heard, number):
        if number % 4 == 3:
            return Page(400)
        return completion("Let us talk." if number % 4 == 1 else '{"act_type": 0, "oA": [1, 0, 0], "confidence": 0.5}')

    service = Service(answer)
    cache = tmp_path / "answers.sqlite"
    model = {"kind": "llm", "name": "model", "provider": "openai", "base_url": service.url, "model": "m"}
    model |= {"cache": str(cache), "cache_mode": "record", "in_flight": 1}
    settings = {
        "env": {"scenarios": "lewis", "max_turns": 4},
        "league": {"rounds": 1, "block_size": 12, "evaluate": False},
        "members": ["heuristic", model],
        "logging": {"output_dir": "runs"},
    }
    (tmp_path / "league.yaml").write_text(json.dumps(settings))
    try:
        done = run_league("--config", "league.yaml", cwd=tmp_path)
    finally:
        service.close()
    assert done.returncode == 0, done.stderr
    document = json.loads(FORMATS["json"](report_of(read_facts(tmp_path / "runs", trust=True))))["sections"]
    (decisions,) = table(document, "models")
    calls = {row["class"]: row for row in table(document, "models", 1)}
    with Ledger(tmp_path / "runs" / "0001" / "ledger.sqlite") as ledger:
        fallen = sum(
            int(leg.facts["fallbacks"][:, seat].sum())
            for leg in ledger.legs(0, failed=True) for seat in (0, 1) if leg.seats[seat] == "model"
        )  # fmt: skip
    assert decisions["fallbacks"]["value"] == fallen > 0
    share = decisions["share of fallbacks"]
    assert share["n"] == decisions["decisions"]["value"]
    with closing(sqlite3.connect(cache)) as cached:
        (known, tokens) = cached.execute("SELECT count(*), sum(prompt_tokens) FROM replies").fetchone()
        (refused,) = cached.execute("SELECT count(*) FROM replies WHERE failure = 'refused'").fetchone()
    assert (calls["all"]["calls"]["value"], calls["all"]["prompt tokens"]["value"]) == (known, tokens)
    assert calls["no reply: refused"]["calls"]["value"] == refused > 0
    assert decisions["answered"]["value"] + fallen == decisions["decisions"]["value"]
    assert not [block for block in document["games"]["blocks"] if "game" in block]  # the cache of one model is missing
