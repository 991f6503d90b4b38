"""Leagues: the whole path of a league compared with bare play, partners, practice of a main, workers, start-up.

Both sides of the path play the very same matches of the scripted roster; the league adds planning, facts, the ledger's
transactions and the standings.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch

from dond_marl.batch import GameBatch
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import Noise, observe_turns, rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Partner, Turns
from league.ledger.run_directory import new_run
from league.play.backends import Backend, InProcess, ProcessBackend
from league.play.blobs import write_blob
from league.play.match import SEATING
from league.play.practice import practice_round
from league.play.values import (
    Block,
    Entrant,
    MatchTask,
    Meeting,
    Member,
    TrainTask,
)
from league.results.progress import ErrorOutput, QuietWatcher
from league.rounds.planner import first_states, members_of, plan_round
from league.rounds.runner import run_league
from league.settings.read import Config, load_config
from league.settings.sections import EnvConfig
from league.standings.history import History
from partners.network.network import PolicyNetwork
from partners.network.shape import NetworkShape
from partners.rosters import TRAIN, roster
from scripts.bench.report import BenchmarkRow, Timed, alternate, rate

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ROOT / "configs" / "league.yaml"
SCRIPTED = ROOT / "configs" / "league_scripted.yaml"
HEAVY = ("torch", "transformers", "groq", "ray")
DECISIONS = 40_000  # of one practice task; a round of the default league has 250,000
WORKERS = 2
TASKS = 4  # of one round
MATCH_SECONDS = 0.6  # processor time of one match; the bar is set for 0.5 and more
ACT_GAMES = 2048  # of a partner's decisions
SMALL_MATCHES = 400  # matches over one scenario each
SEAT_ORDERS = 2  # games of a match over one scenario
ONE_REPEAT = 1e-3  # seconds: one repetition is enough
WORKERS_BAR = 1.7
STARTS = {"--help": 0.5, "evaluate --member expert --against heuristic --sample 20": 2.6}  # most processor seconds
MEMORY_BAR, ENCODING_BAR = 18, 1.5  # us a decision: practice with memory; what encoding its history adds
NO_FOLDER = Path()  # matches of members that never learn read no weights
BACKEND_ENV = EnvConfig(scenarios="lewis", split="train")


def whole_league() -> Timed:
    """One round of the scripted league from settings to CSV."""
    folder, watcher = tempfile.TemporaryDirectory(), QuietWatcher(ErrorOutput())

    def work() -> int:
        settings = ["league.rounds=1", "league.evaluate=false", f"logging.output_dir={folder.name}"]
        config: Config = load_config(SCRIPTED, settings)
        return run_league(config, new_run(Path(folder.name)), watcher).cross.total_games

    return work


def bare_loop() -> Timed:
    """The same matches by ``rollout`` alone."""
    config: Config = load_config(SCRIPTED, [])
    rules = config.env.rules()

    def work() -> int:
        games = 0
        for task in plan_round(config, History(members_of(config), config.league.decay), {}).matches:
            scenarios = SEATING.scenarios(config.env, task.seed, task.block)
            for order, leg in enumerate(task.legs):
                occupants = _scripted_partner(leg[0]), _scripted_partner(leg[1])
                rollout(occupants, scenarios, rules, seed=task.seed, index=(0, task.number, order))
                games += scenarios.size
        return games

    return work


def _scripted_partner(seated: Entrant) -> Partner:
    assert seated.member.spec is not None
    return seat_occupant(seated.member.spec)


def import_rows(repeats: int, _seconds: float) -> Iterator[BenchmarkRow]:
    """Median seconds of ``import dond_marl`` in a fresh interpreter, and heavy libraries that light packages load."""
    code = "import time; t = time.perf_counter(); import dond_marl; print(time.perf_counter() - t)"
    seconds = statistics.median(float(_python(code)) for _ in range(repeats))
    yield BenchmarkRow("import dond_marl", "s", 1, seconds, bar="< 0.5 s", reached=seconds < 0.5)
    code = "import sys, dond_marl, partners, hints; print(*[m for m in sys.modules if m.split('.')[0] in %r])"
    heavy, bar = _python(code % (HEAVY,)).split(), f"none of {', '.join(HEAVY)}"
    yield BenchmarkRow("heavy modules", "modules", 1, len(heavy), bar=bar, reached=not heavy, note=", ".join(heavy))
    for words, limit in STARTS.items():
        seconds = min(_processor_seconds("-m", "dond", *words.split()) for _ in range(repeats))
        yield BenchmarkRow(f"dond {words}", "CPU s", 1, seconds, bar=f"< {limit} s", reached=seconds < limit)


def _processor_seconds(*words: str) -> float:
    """Processor time of one run of Python with ``words``, of all its threads."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, capture_output=True, cwd=ROOT)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _python(code: str) -> str:
    process = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)  # noqa: S603
    return process.stdout


def decisions_of(names: Sequence[str]) -> Timed:
    """Every one of the occupants on the same turns, of games between generated partners; one unit is one decision."""
    played, turns = [seat_occupant(name) for name in names], recorded_turns()

    def work() -> int:
        for partner in played:
            for batch in turns:
                partner.act(batch)
        return len(played) * sum(batch.size for batch in turns)

    return work


def recorded_turns() -> list[Turns]:
    """The turns of games between generated partners."""
    noise, generated, turns = Noise(0, (0,), ACT_GAMES), seat_occupant("generated"), list[Turns]()
    table = GameBatch(open_source("lewis").draw(generator(0, "turns"), ACT_GAMES))
    while table.open:
        turns.append(observe_turns(table, noise, deterministic=False))
        table.step(generated.act(turns[-1]))
    return turns


def practice_of_main(history: str) -> Timed:
    """Practice tasks of the default league's main, each continuing the one before; one unit is one own decision."""
    folder = tempfile.TemporaryDirectory()  # lives as long as the returned function
    config: Config = load_config(DEFAULT, [])
    main, blobs, members = config.learners[0].model_copy(update={"history": history}), Path(folder.name), roster(TRAIN)
    config = config.model_copy(update={"learners": (main,)})
    meetings = tuple(Meeting(Entrant(Member(name, name)), 1 / len(members), "the benchmark") for name in members)
    task = TrainTask(
        round=0,
        number=0,
        learner=main.model_copy(update={"decisions": DECISIONS}),
        state=first_states(config, blobs)[main.name],
        meetings=meetings,
        env=config.env,
        hints=config.curriculum[-1].hints_of(main.name),
        seed=config.league.seed,
        total_decisions=main.decisions * config.league.rounds,
    )
    torch.set_num_threads(1)

    def work(_folder: object = folder) -> int:
        nonlocal task
        result = practice_round(task, blobs)
        assert result.content is not None, result.cause
        write_blob(blobs, result.content)
        decisions = result.state.decisions - task.state.decisions
        task = replace(task, state=result.state)
        return decisions

    return work


def practice_rows(repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    """The default league's main against the roster train, drawn for every game, play and update; with memory too."""
    title, unit = "practice of the default league", "us a decision"
    for history, name in (("none", title), ("flat", f"{title}, reading the history")):
        work = practice_of_main(history)
        work()  # warm up
        costs = [1e6 / rate(work, seconds, time.process_time) for _ in range(repeats)]
        row = BenchmarkRow(name, unit, 1, statistics.median(costs), note=f"{min(costs):.1f} to {max(costs):.1f}")
        yield row if history == "none" else row._replace(bar=f"<= {MEMORY_BAR}", reached=row.ours <= MEMORY_BAR)
    pairs = alternate(encoding("flat"), encoding("none"), repeats, seconds, time.process_time)
    cost = statistics.median(1e6 / flat - 1e6 / plain for flat, plain in pairs)
    bar = f"<= {ENCODING_BAR}"
    yield BenchmarkRow("encoding of the history", unit, 1, cost, bar=bar, reached=cost <= ENCODING_BAR)


def encoding(history: Literal["none", "flat"]) -> Timed:
    """Features of the turns of games between generated partners, and their preparation for play and for the update."""
    network, turns = PolicyNetwork(NetworkShape(sorted_items=True, history=history)), recorded_turns()

    def work() -> int:
        for batch in turns:
            features = torch.from_numpy(network.adapter.encode(batch.rows(slice(None))))  # gathers the history again
            network.prepare(features), network.prepare(features)
        return sum(batch.size for batch in turns)

    return work


def backend_rows(repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    """Speed-up of two workers over one process, overhead of one task, start-up time of a worker."""
    tasks = _matches(_games_per_match(MATCH_SECONDS), TASKS)
    with ProcessBackend(WORKERS) as workers, InProcess() as alone:
        pairs = alternate(_round(workers, tasks), _round(alone, tasks), repeats, seconds)
    ratios = [ours / peers for ours, peers in pairs]
    ratio = statistics.median(ratios)
    ours, peers = (statistics.median(rates) for rates in zip(*pairs, strict=True))
    yield BenchmarkRow(
        "process backend, two workers", "games/s", WORKERS, ours, "in this process", peers, ratio, f"{WORKERS_BAR}x",
        ratio >= WORKERS_BAR, f"ratios {min(ratios):.2f} to {max(ratios):.2f}",
    )  # fmt: skip
    small = _matches(1, SMALL_MATCHES)
    with ProcessBackend(1) as worker, InProcess() as alone:
        pairs = alternate(_round(worker, small), _round(alone, small), repeats, ONE_REPEAT)
    costs = [1e3 * SEAT_ORDERS * (1 / ours - 1 / peers) for ours, peers in pairs]
    note = f"from task to result, without the play; {min(costs):.2f} to {max(costs):.2f}"
    yield BenchmarkRow("overhead per task", "ms", 1, statistics.median(costs), note=note)
    seconds_to_start = [_start_worker() for _ in range(repeats)]
    note = f"a new process plays one game; {min(seconds_to_start):.2f} to {max(seconds_to_start):.2f}"
    yield BenchmarkRow("start of a worker", "s", 1, statistics.median(seconds_to_start), note=note)


def _start_worker() -> float:
    """Seconds until a new worker has played the first match."""
    tasks, began = _matches(1, 1), time.perf_counter()
    with ProcessBackend(1) as worker:
        list(worker.run(tasks, NO_FOLDER))
    return time.perf_counter() - began


def _round(backend: Backend, tasks: Sequence[MatchTask]) -> Timed:
    return lambda: sum(result.games for result in backend.run(tasks, NO_FOLDER))


def _games_per_match(seconds: float) -> int:
    """Number of games in a match that takes ``seconds`` of processor time."""
    work = _round(InProcess(), _matches(8192, 1))
    work()  # warm up
    return int(rate(work, ONE_REPEAT, time.process_time) * seconds) + 1


def _matches(games: int, number: int) -> list[MatchTask]:
    members = (Entrant(Member("expert", Spec("expert"))), Entrant(Member("heuristic", Spec("heuristic"))))
    block = Block(0, games)
    return [MatchTask(0, i, members, block, BACKEND_ENV, 0, "the benchmark", 1.0) for i in range(number)]
