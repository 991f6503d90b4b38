"""One arm with one seed: learned to its end, or from where it was left, counted, and submitted to the benchmark."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.game import Rules
from dond_marl.records.files import write_atomically
from dond_marl.scenarios.sources import Scenarios, ScenarioSource, open_source
from dond_marl.seats import Partner
from dond_marl.statistics import points_of_ten
from experiments.baselines.plan import CHOICE, Job
from experiments.baselines.settings import Pick
from league.bench.submission import Submission, submission_of_run, submission_of_spec
from league.evaluation.matches import Terms, score
from league.ledger.ledger import Ledger
from league.ledger.run_directory import PROGRESS, RunDirectory, RunError
from league.rounds.runner import run_league
from league.rounds.watching import LeagueProgress
from league.settings.read import Config
from league.settings.sections import BackendConfig
from league.settings.training import TrainConfig
from league.standings.ladder import Standing
from league.tasks.seating import SEATING
from league.tasks.values import Entrant, MatchResult, Member, Place, TrainResult

DONE, PRACTICED = "run.json", "practice.jsonl"


class Run(NamedTuple):
    """A finished run: who is submitted, how many acts it took and for what, and how it plays with itself."""

    settings_sha256: str  # of what it is a function of
    submitted: str  # a member of the league, a checkpoint's path within the folder, or a spec
    decisions: int  # own, of all learners together
    practice: int  # acts of both seats in the games that somebody learned from
    matches: int  # acts in a league's matches
    choice: int  # acts played to pick whom to submit
    self_play_deals: float | None  # on the held-out scenarios, greedy; None: nobody learned
    self_play_points: float | None

    @property
    def acts(self) -> int:
        return self.practice + self.matches + self.choice


def finished(job: Job) -> Run | None:
    """The run of ``job`` where it is done. Raises :class:`RunError` where the folder holds another."""
    path = job.folder / DONE
    if not path.is_file():
        return None
    try:
        run = Run(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise RunError(f"{path}: damaged ({error}); delete it, and the run is finished anew") from None
    if run.settings_sha256 != job.digest:
        raise RunError(
            f"{job.folder} holds a run of other settings than {job.label} has now; take them back, or name another "
            f"folder with --set output_dir=FOLDER"
        )
    return run


def learn(job: Job) -> Run:
    """The run of ``job``, from wherever it was left; nothing where it is done. Raises what learning raises."""
    done = finished(job)
    if done is not None:
        return done
    job.folder.mkdir(parents=True, exist_ok=True)
    if job.config is None:
        assert job.occupant is not None
        run = Run(job.digest, job.occupant, 0, 0, 0, 0, None, None)
    elif isinstance(job.config, TrainConfig):
        run = _train(job, job.config)
    else:
        run = _league(job, job.config)
    write_atomically(job.folder / DONE, json.dumps(run._asdict(), indent=1) + "\n")
    return run


def submission(job: Job, run: Run) -> Submission:
    """What the benchmark measures of a finished run; seeds of one arm have its name."""
    if job.config is None:
        made, seed = submission_of_spec(run.submitted, job.arm.name), None
    elif isinstance(job.config, TrainConfig):
        made, seed = submission_of_spec(str(job.folder / run.submitted), job.arm.name), job.seed
    else:
        made, seed = submission_of_run(job.folder, run.submitted, job.arm.name), job.seed
    return made._replace(seed=seed, acts=run.acts, settings_sha256=job.digest)


class Quiet:
    """Watches a league or a training without a word, and writes down how many acts each practice of a league took."""

    def __init__(self, practiced: Path, tell: Callable[[str], None]) -> None:
        self.practiced, self.warned = practiced, tell

    def opened(self, *_: object) -> None: ...
    def finishing(self, _message: str) -> None: ...
    def tick(self) -> None: ...
    def played(self, _progress: LeagueProgress, _result: MatchResult) -> None: ...
    def committed(self, _progress: LeagueProgress, _standings: list[Standing]) -> None: ...
    def saved(self, _path: Path) -> None: ...

    def updated(self, _training: object) -> bool:
        return True

    def trained(self, _progress: LeagueProgress, result: TrainResult) -> None:
        """Before the round is committed: what is played again is written again, and the last line counts."""
        row = {
            "round": result.task.round,
            "learner": result.task.learner.name,
            "decisions": result.state.decisions - result.task.state.decisions,
            "acts": result.acts,
        }
        with self.practiced.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def _train(job: Job, config: TrainConfig) -> Run:
    from league.training.training import checkpoints_in, train

    watcher = Quiet(job.folder / PRACTICED, lambda _: None)
    training, _ = train(config, RunDirectory(job.folder), watcher)
    with (job.folder / PROGRESS).open(newline="", encoding="utf-8") as file:
        acts, before = 0.0, 0
        for row in csv.DictReader(file):
            acts += (int(row["games"]) - before) * float(row["turns"])
            before = int(row["games"])
    newest = checkpoints_in(job.folder)[0]
    player = submission_of_spec(str(newest)).player.partner()
    return Run(
        job.digest,
        str(newest.relative_to(job.folder)),
        training.learner.decisions,
        round(acts),
        0,
        0,
        *_alone(player, config.env.rules()),
    )


def _league(job: Job, config: Config) -> Run:
    directory = RunDirectory(job.folder)
    practiced = job.folder / PRACTICED
    run_league(config, directory, Quiet(practiced, lambda _: None), BackendConfig(kind="local"))
    with Ledger(directory.ledger) as ledger:
        members, states = ledger.members(), ledger.states()
        legs = (leg for number in range(ledger.next_round) for leg in ledger.legs(number))
        matches = sum(int(leg.facts["turns"].sum(dtype="int64")) for leg in legs)
    practices = list(_practices(practiced))
    decisions, acts = (sum(row[key] for row in practices) for key in ("decisions", "acts"))
    main = next(member for member in members if member.role == "main")
    place, choice, chosen = Place(directory.blobs), 0, main.name
    if job.arm.pick != "last":
        chosen, choice = _picked(job.arm.pick, main, members, {main.name: states[main.name].blob}, place, config)
    member = next(each for each in members if each.name == chosen)
    player = SEATING.partner(Entrant(member, states[chosen].blob if member.live else member.blob), place, greedy=True)
    return Run(job.digest, chosen, decisions, acts, matches, choice, *_alone(player, config.env.rules()))


def _practices(path: Path) -> Iterator[dict[str, int]]:
    """Own decisions and acts of each practice; of one that was played twice, the last."""
    known: dict[tuple[Any, Any], dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except ValueError:  # what a kill left of a last line; the round is played again, and so is it written
            continue
        known[row["round"], row["learner"]] = row
    yield from known.values()


def _picked(
    pick: Pick, main: Member, members: tuple[Member, ...], live: dict[str, str], place: Place, config: Config
) -> tuple[str, int]:
    """Which of a main and its snapshots has most points, or wins most, against who practiced with it; acts played."""
    candidates = [each for each in members if each.name == main.name or each.parent == main.name]
    opponents = [each for each in members if each.role == "fixed" and each.split == "train" and not each.costly]
    source = open_source(config.env.scenarios, split=config.env.split)
    some = source.block(config.league.seed, 0, CHOICE)
    terms = Terms(ScenarioSource(source.name, source.split, some, source.max_count), some, config.env.rules())
    scores, acts = [], 0
    for candidate in candidates:
        player = SEATING.partner(Entrant(candidate, live.get(candidate.name, candidate.blob)), place, greedy=True)
        total = 0.0
        for opponent in opponents:
            other = SEATING.partner(Entrant(opponent, None), place)
            for seat, games in enumerate(terms.games((player, player), other)):
                acts += int(games.turns.sum(dtype="int64"))
                total += _scored(pick, games.scores, some, seat)
        scores.append(total)
    return candidates[scores.index(max(scores))].name, acts


def _scored(pick: Pick, scores: Any, scenarios: Scenarios, seat: int) -> float:
    points = points_of_ten(scores, scenarios.pool_values)
    own, other = points[:, seat], points[:, 1 - seat]
    if pick == "points":
        return float(own.mean())
    return float(((own > other) + (own >= other)).mean()) / 2


def _alone(player: Partner, rules: Rules) -> tuple[float, float]:
    """Share of deals and points of ten of a player with itself, on the scenarios with a view held out."""
    source = open_source("lewis", split="test")
    assert source.table is not None
    result = score(player, player, Terms(source, source.table, rules))
    return result.deals, result.points.mean
