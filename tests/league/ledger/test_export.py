"""Export of a ledger as tables: equal to the played games in every file format."""

from __future__ import annotations

import contextlib
import csv
import json
import shutil
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest

from dond_marl.errors import InputError, Notice
from league.ledger.ledger import ReadLedger
from league.ledger.run_directory import RunDirectory
from league.tables.export import TABLES, export_tables, frame
from tests.command import in_process

CONFIG = """
env: {scenarios: lewis, split: train, max_turns: 4}
league: {seed: 3, rounds: 2, block_size: 8, evaluate: false}
members: [heuristic, tough, {kind: nice, name: "=nice"}]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A league of two rounds, one of its members called what a spreadsheet would take for a formula."""
    folder = tmp_path_factory.mktemp("league")
    (folder / "league.yaml").write_text(CONFIG)
    done = in_process("league", "--config", "league.yaml", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "runs" / "league" / "0001"


@pytest.fixture(scope="module")
def files(run, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    for kind in ("csv", "jsonl"):
        done = in_process("export", run, "--to", kind, "--out", folder)
        assert done.returncode == 0 and done.stdout.count("written: ") == len(TABLES), done.stderr
    return folder


def rows_of(files: Path, name: str) -> list[dict]:
    return [json.loads(line) for line in (files / f"{name}.jsonl").read_text().splitlines()]


def test_games_table_equals_the_ledger(run, files):
    games = rows_of(files, "games")
    with ReadLedger(RunDirectory(run).ledger) as ledger:
        legs = [(number, leg) for number in range(ledger.next_round) for leg in ledger.legs(number)]
    assert len(games) == sum(len(leg.facts) for _, leg in legs)
    for number, leg in legs:
        own = [g for g in games if (g["round"], g["seat_0"], g["seat_1"]) == (number + 1, *leg.seats)]
        assert [[g["points_0"], g["points_1"]] for g in own] == leg.facts["scores"].tolist()
        assert [g["turns"] for g in own] == leg.facts["turns"].tolist()


def test_acts_lead_to_the_points(files):
    games = {(g["round"], g["seat_0"], g["seat_1"], g["game"]): g for g in rows_of(files, "games")}
    acts_by_game: dict[tuple, list[dict]] = {}
    for act in rows_of(files, "acts"):
        acts_by_game.setdefault((act["round"], act["seat_0"], act["seat_1"], act["game"]), []).append(act)
    assert acts_by_game.keys() == games.keys()
    deals = 0
    for key, acts in acts_by_game.items():
        assert [a["turn"] for a in acts] == list(range(1, games[key]["turns"] + 1))
        assert [a["member"] for a in acts] == [games[key][f"seat_{a['seat']}"] for a in acts]
        if acts[-1]["act"] == "AGREE":
            deals += 1
            offer, speaker = acts[-2], acts[-2]["seat"]
            points = sum(offer[i] * games[key][f"value_{speaker}_{i}"] for i in ("books", "hats", "balls"))
            assert points == games[key][f"points_{speaker}"] and games[key]["deal"]
    assert deals > 20


def test_payoffs_and_ranks_equal_means_of_games(files):
    games = rows_of(files, "games")
    for cell in rows_of(files, "payoffs"):
        mine, theirs = f"seat_{cell['seat']}", f"seat_{1 - cell['seat']}"
        own = [g for g in games if g[mine] == cell["member"] and g[theirs] == cell["against"]]
        assert cell["games"] == len(own)
        assert cell["points"] == pytest.approx(np.mean([g[f"of_ten_{cell['seat']}"] for g in own]))
        assert cell["deals"] == pytest.approx(np.mean([g["deal"] for g in own]))
    ratings = rows_of(files, "ratings")
    assert [row["rank"] for row in ratings] == [1, 2, 3]
    assert [row["points"] for row in ratings] == sorted((row["points"] for row in ratings), reverse=True)
    assert all(row["take"] is not None and row["role"] == "fixed" for row in ratings)


@pytest.mark.parametrize("name", TABLES)
def test_formats_are_equal(run, files, tmp_path, name):
    lines, columns = rows_of(files, name), [column.name for column in TABLES[name].columns]
    with (files / f"{name}.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert list(read[0]) == columns and len(read) == len(lines)
    for text, line in zip(read, lines, strict=True):
        for key, value in line.items():
            if isinstance(value, float):
                assert float(text[key]) == value
            else:
                plain = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
                assert text[key] == ("'=nice" if plain == "=nice" else plain)
    if name == "ratings":  # solving the meta-game again for each kind would take seconds
        return
    parquet = pytest.importorskip("pyarrow.parquet")
    (path,) = export_tables(run, "parquet", tmp_path, [name])
    assert parquet.read_table(path).to_pylist() == lines
    whole = frame(run, name)
    assert list(whole.columns) == columns
    assert [
        {k: None if v != v or str(v) == "<NA>" else v for k, v in row.items()} for row in whole.to_dict("records")
    ] == lines


def test_export_errors_leave_no_files(run, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="no table 'deals'; there are games, acts, payoffs, ratings"):
        frame(run, "deals")
    done = in_process("export", tmp_path / "none", "--to", "csv")
    assert done.returncode == 2 and str(tmp_path / "none") in done.stderr
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = in_process("export", run, "--to", "parquet", "--out", tmp_path / "new")
    assert done.returncode == 2 and "[frames]'" in done.stderr
    assert not (tmp_path / "new").exists()


def test_games_with_other_results_are_left_out_of_acts(run, tmp_path):
    """As those of weights that are gone: here a member whose acts are another's."""
    other = tmp_path / "0001"
    shutil.copytree(run, other)
    with contextlib.closing(sqlite3.connect(other / "ledger.sqlite")) as db, db:
        db.execute("UPDATE members SET spec = 'random' WHERE member = 'tough'")
    with pytest.warns(Notice):  # its seals are broken
        done = in_process("export", other, "--to", "jsonl", "--table", "acts")
    assert done.returncode == 0 and "tough" in done.stdout
    assert {row["member"] for row in rows_of(other / "export", "acts")} == {"heuristic", "=nice"}


def test_messages_are_exported_with_acts(tmp_path, files):
    config = (
        "env: {scenarios: lewis, split: train, message_length: 60}\n"
        "league: {rounds: 1, block_size: 4, evaluate: false}\nmembers: [announcer, listener, tough]\n"
    )
    (tmp_path / "league.yaml").write_text(config)
    done = in_process("league", "--config", "league.yaml", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = tmp_path / "runs" / "league" / "0001"
    assert in_process("export", run, "--to", "jsonl", "--out", tmp_path).returncode == 0
    acts = rows_of(tmp_path, "acts")
    assert {act["member"] for act in acts} == {"announcer", "listener", "tough"}
    for act in acts:
        acts_by_game = act["message"]
        assert acts_by_game.startswith("My values: book ") if act["member"] == "announcer" else acts_by_game == ""
    assert all(act["message"] is None for act in rows_of(files, "acts"))  # of a league without messages
