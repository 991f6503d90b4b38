"""A whole study of 129 simulated participants, twelve in real browsers, with a kill in the middle."""

from __future__ import annotations

import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import ExitStack

import httpx
import pytest

from league.settings.read import load_config
from league.web.study.analysis import MEASURES, played, table
from league.web.study.assignment import assignment
from league.web.study.folder import open_study
from league.web.study.games import shuffled
from league.web.study.rehearsal import PARTICIPANTS, World
from league.web.study.settings import StudyConfig
from tests.command import HERE, PROGRAM, ROOT, run_dond
from tests.league.web.browser import NARROW, PATIENCE, WIDE, browsing, missing
from tests.league.web.study.visitors import Browser, Forms, Visitor

BROWSERS = 12
KILLED_AFTER = 12  # rounds in which everybody does one thing
OVERRIDES = ("output_dir=study", "study.waiting=25")
SETS = [word for override in OVERRIDES for word in ("--set", override)]


class Server:
    """``dond study serve`` in a process of its own."""

    def __init__(self, folder, *arguments):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address, self._folder, self._arguments = f"http://127.0.0.1:{self.port}", folder, arguments
        self.log = folder / "server.log"
        self.start()

    def start(self):
        command = [*PROGRAM, "study", "serve", "--port", str(self.port), *SETS, *self._arguments]
        with self.log.open("a") as file:
            self.process = subprocess.Popen(
                command, cwd=self._folder, stdout=file, stderr=subprocess.STDOUT, env={**HERE, "OMP_NUM_THREADS": "1"}
            )
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            try:
                urllib.request.urlopen(self.address, timeout=5).close()
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"the study is not served: {self.log.read_text()[-2000:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server(tmp_path):
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    running = Server(tmp_path)
    yield running
    running.process.terminate()
    assert running.process.wait() == 143
    assert "Traceback" not in running.log.read_text(), running.log.read_text()


@pytest.mark.slow
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_129_participants_come_to_their_codes_and_their_games_are_those_that_are_known(server, tmp_path, capsys):
    settings = load_config(ROOT / "configs" / "study.yaml", OVERRIDES, StudyConfig)
    world, seed = World(settings), settings.study.seed
    with browsing() as browser, ExitStack() as open_clients:
        visitors, problems = [], []
        for number in range(PARTICIPANTS):
            if number % (PARTICIPANTS // BROWSERS) == 3 and number < BROWSERS * (PARTICIPANTS // BROWSERS):
                scheme, size = ("dark", NARROW) if number % 2 else ("light", WIDE)
                page = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce").new_page()
                page.set_default_timeout(60_000)
                page.on("pageerror", lambda error: problems.append(str(error)))
                surface = Browser(page, server.address)
            else:
                client = httpx.Client(base_url=server.address, timeout=60, trust_env=False)
                surface = Forms(open_clients.enter_context(client))
            visitor = Visitor(surface, world.type_of(seed, number), settings)
            visitor.wrong_first = number % 10 == 0
            while "Begin" not in surface.page():
                visitor.step()
            visitors.append(visitor)
        assert sum(isinstance(visitor.surface, Browser) for visitor in visitors) == BROWSERS
        open_, rounds = list(visitors), 0
        while open_:
            open_, rounds = [visitor for visitor in open_ if not visitor.step()], rounds + 1
            if rounds == KILLED_AFTER:
                server.kill()
                server.start()
            if len(open_) < 4:  # whoever is left waits for somebody, in vain
                time.sleep(0.3)
            assert rounds < 3000, f"{len(open_)} are not done"
        assert problems == []
    progress = open_study(tmp_path / "study")
    assert [who.phase for who in progress.participants] == ["done"] * PARTICIPANTS
    assert all(who.attempts == (who.number % 10 == 0) for who in progress.participants)
    for number, row in enumerate(shuffled(progress, 0).games):
        assert known(world, progress, row, settings) == points(row), number
    (tmp_path / "codes").write_text("\n".join([*(visitor.code for visitor in visitors), "AAAA-BBBB-CCCC"]))
    told = run_dond("study", "codes", "study", "codes", cwd=tmp_path).stdout
    assert told.count(": given out here") == PARTICIPANTS and told.count("not given out here") == 1
    exported = run_dond("study", "export", "study", "--to", "out", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    analysed = run_dond("study", "analyse", "out", cwd=tmp_path)
    assert analysed.returncode == 0 and all(name in analysed.stdout for name in ("prosocial", "person", *MEASURES[:2]))
    lines = table(played(shuffled(progress, 0)))
    held = {}
    for condition in settings.conditions:
        truth = world.truth(condition.name)
        for measure, figure in lines[condition.name].figures.items():
            held[condition.name, measure] = figure.low <= truth[measure] <= figure.high
    with capsys.disabled():
        print(f"\n{sum(held.values())} of {len(held)} intervals hold the truth\n{analysed.stdout}")
    assert sum(held.values()) >= 0.7 * len(held)  # of one study: its figures go together; many are in test_figures
    log = server.log.read_text()
    assert f"with the {PARTICIPANTS} participants of before" in log
    assert not re.search("|".join(visitor.code for visitor in visitors), log)


def points(row):
    outcome = row.table.state.outcome
    return outcome.scores[row.seat], outcome.scores[1 - row.seat]


def known(world, progress, row, settings):
    """The points of a game by whoever plays it, over the scenario and from the seat of the plan."""
    seed = settings.study.seed
    who = progress.participants[row.table.players[row.seat]]
    mate = None if row.other is None else progress.participants[row.other]
    anchor = who if mate is None else min(who, mate, key=lambda each: each.number)
    plan = assignment(settings, anchor.place)
    (number,) = world._source.places(seed, plan.start + row.order - 1, 1).tolist()
    other = row.table.partner if mate is None else world.type_of(seed, mate.place)
    return world.points(world.type_of(seed, who.place), other, number, row.seat)


def test_an_address_that_others_reach_needs_a_password_and_texts_of_ones_own(tmp_path):
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    done = run_dond("study", "serve", "--host", "0.0.0.0", cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "texts.consent, texts.thanks still hold [REPLACE ...]" in done.stderr
    own = [word for text in ("consent", "thanks") for word in ("--set", f"texts.{text}=mine")]
    done = run_dond("study", "serve", "--host", "0.0.0.0", *own, cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "needs a password" in done.stderr
    short = {**HERE, "DOND_STUDY_PASSWORD": "short"}
    done = run_dond("study", "serve", "--host", "0.0.0.0", *own, cwd=tmp_path, env=short)
    assert done.returncode == 2 and "at least 12 characters; got 5" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_study_goes_on_with_its_own_settings_alone_and_one_process_writes_it(server, tmp_path):
    words = ("study", "serve", "--port", "0", *SETS)
    done = run_dond(*words, cwd=tmp_path)
    assert done.returncode == 1 and "in use by another process" in done.stderr
    server.kill()
    done = run_dond(*words, "--set", "study.games=7", cwd=tmp_path)
    assert done.returncode == 2 and "other settings of study" in done.stderr
    server.start()
    with httpx.Client(base_url=server.address, trust_env=False) as client:
        assert "You are invited" in client.get("/").text
