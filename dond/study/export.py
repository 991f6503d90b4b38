"""Export of a study: CSV files, JSON lines and a codebook, without names, addresses, dates and free text.

Participants get new numbers, ordered by a digest of the export's seed and a key that only the journal holds, so that
the order cannot be reversed without the journal. The scenarios stay: a reader who knows the study's seed can tell from
them in which order the participants of a condition came. Participants who withdrew are left out, with their tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, get_args

from jinja2 import Environment, StrictUndefined

from dond.study.progress import Participant, Phase, Progress, StudyTable
from dond.study.settings import PERSON, StudyConfig
from dond.web.frame import TEMPLATES
from dond_marl.game import ITEMS
from dond_marl.records.files import write_atomically
from dond_marl.records.record import record_of, to_line
from league.figures.rows import write_csv

GAMES = "games.csv"
STAND_IN = "_stand_in"  # suffix of a condition whose second person did not come
COLUMNS = {
    "participants.csv": {
        "participant": "a number of this export; not the order in which people came",
        "status": "done, or unfinished: the questionnaire was not handed in",
        "conditions": "the participant's conditions, in order, with + between",
        "failed_checks": "wrong attempts before the check was passed",
        "games": "games finished by the rules",
        "seconds": "from the first page to the last act at a table",
    },
    GAMES: {
        "game": "number of the game; a game between two people has two rows",
        "participant": "as in participants.csv",
        "other": "the other participant where two people played, otherwise empty",
        "cluster": "participants connected by common games share one: the unit of the intervals",
        "order": "which of the participant's games it was, from 1",
        "condition": "as in the settings; ending in _stand_in if an occupant played for a missing person",
        "partner": "the occupant, or person",
        "seat": "the participant's: 0 opened",
        **{f"{item}s": f"{item}s on the table" for item in ITEMS},
        **{f"{item}_value": f"points of a {item} to the participant" for item in ITEMS},
        **{
            f"{item}_value_other": f"points of a {item} to the other side, which the participant did not see"
            for item in ITEMS
        },
        "ended": "finished, or why not: late or left (a person was too slow, or stopped), failed (the occupant)",
        "ending": "AGREE, DISAGREE, END or TURN_LIMIT, of finished games",
        "deal": "1 or 0, of finished games",
        "points": "the participant's",
        "points_other": "the other side's",
        "whole": "points of everything on the table to the participant",
        "whole_other": "the same to the other side",
        "acts": "number of acts of both",
        "seconds": "from the first act to the last",
    },
    "acts.csv": {
        "game": "as in games.csv",
        "turn": "from 1",
        "seat": "of the speaker",
        "participant": "as in participants.csv; empty for an occupant",
        "act": "PROPOSE, INSIST, AGREE, DISAGREE or END",
        **{f"keeps_{item}s": "what the speaker would keep; empty without an offer" for item in ITEMS},
        "seconds": "since the page first showed the turn, by the server's clock; empty for an occupant",
        "seconds_browser": "since the page was last loaded, by the browser's clock; empty if it sent none",
        "seconds_game": "since the first act of the game",
        "cause": "0: a free choice; otherwise the reason why an occupant's fallback was played (dond_marl.seats.Cause)",
    },
    "answers.csv": {
        "participant": "as in participants.csv",
        "question": "its name in the settings",
        "answer": "a number of the scale, or the number of the option from 1",
        "label": "the option; empty for a scale",
    },
}


class ExportedGame(NamedTuple):
    """A game from the side of one participant."""

    game: int  # from 1; the same for both people of a table
    participant: int  # from 1
    cluster: int  # smallest number among the participants connected by common tables
    order: int  # of the participant's games, from 1
    condition: str  # with STAND_IN if the occupant played for a person
    seat: int
    table: StudyTable


class ExportedStudy(NamedTuple):
    """Participants under new numbers, the mapping to them, and all games."""

    people: dict[int, Participant]  # by new number
    numbers: dict[int, int]  # from the journal's to the new
    games: tuple[ExportedGame, ...]  # by game, then participant


def anonymise(progress: Progress, seed: int) -> ExportedStudy:
    """The participants who passed the check and did not withdraw, renumbered by ``seed``, with their games."""
    included = [
        participant.number
        for participant in progress.participants
        if participant.place is not None and participant.phase != "withdrawn"
    ]
    included.sort(key=lambda number: sha256(f"{seed} {progress.participants[number].key}".encode()).digest())
    numbers = {journal_number: i for i, journal_number in enumerate(included, 1)}
    tables = [table for table in progress.tables if table.end is not None and numbers.keys() >= set(table.people)]
    heads = _clusters(tables, numbers)
    rows = []
    tables.sort(
        key=lambda table: min((numbers[participant], _game_of(table, participant)) for participant in table.people)
    )
    for game, table in enumerate(tables, 1):
        condition = table.condition
        if progress.config.condition(condition).with_a_person and table.partner != PERSON:
            condition += STAND_IN
        for number in sorted(table.people, key=numbers.__getitem__):
            order = _game_of(table, number) + 1
            seat = table.seat_of(number)
            rows.append(ExportedGame(game, numbers[number], heads[numbers[number]], order, condition, seat, table))
    people = {numbers[number]: progress.participants[number] for number in included}
    return ExportedStudy(dict(sorted(people.items())), numbers, tuple(rows))


def _game_of(table: StudyTable, participant: int) -> int:
    game = table.games[table.seat_of(participant)]
    assert game is not None
    return game


def _clusters(tables: Sequence[StudyTable], numbers: dict[int, int]) -> dict[int, int]:
    """The smallest number of each participant's cluster (union-find over tables with two people)."""
    heads = {number: number for number in numbers.values()}

    def head(number: int) -> int:
        while heads[number] != number:
            number = heads[number]
        return number

    for table in tables:
        ends = [head(numbers[number]) for number in table.people]
        heads[max(ends)] = min(ends)
    return {number: head(number) for number in heads}


def export_study(progress: Progress, folder: Path, seed: int) -> dict[str, int]:
    """Write all files into ``folder``, each atomically; the number of rows by file."""
    folder.mkdir(parents=True, exist_ok=True)
    exported, config = anonymise(progress, seed), progress.config
    people = exported.people.items()
    rows: dict[str, list[list[object]]] = {
        "participants.csv": [_participant(number, person, exported) for number, person in people],
        GAMES: [game_cells(row, exported) for row in exported.games],
        "acts.csv": [line for row in _tables(exported) for line in _acts(row, exported)],
        "answers.csv": [line for number, person in people for line in _answers(number, person, config)],
    }
    for name, lines in rows.items():
        write_csv(folder / name, COLUMNS[name], ([str(cell) for cell in line] for line in lines))
    records = [_record(row, exported) for row in _tables(exported) if row.table.end == "finished"]
    write_atomically(folder / "games.jsonl", "".join(f"{line}\n" for line in records))
    write_atomically(folder / "codebook.md", codebook(progress))
    return {**{name: len(lines) for name, lines in rows.items()}, "games.jsonl": len(records)}


def codebook(progress: Progress) -> str:
    """Description of the files and of what was left out; no study seed, which gives away the order of arrival."""
    phases = dict.fromkeys(get_args(Phase), 0) | Counter(participant.phase for participant in progress.participants)
    engine = Environment(trim_blocks=True, undefined=StrictUndefined, keep_trailing_newline=True)  # noqa: S701  # text
    engine.filters["cell"] = _cell
    template = engine.from_string((TEMPLATES / "codebook.md.j2").read_text("utf-8"))
    return template.render(config=progress.config, phases=phases, files=COLUMNS)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _tables(exported: ExportedStudy) -> list[ExportedGame]:
    """One row for each game."""
    return [row for i, row in enumerate(exported.games) if not i or exported.games[i - 1].game != row.game]


def _participant(number: int, participant: Participant, exported: ExportedStudy) -> list[object]:
    tables = [row.table for row in exported.games if row.participant == number]
    ends = [table.acts[-1].at for table in tables if table.acts]
    seconds = f"{(max(ends) - participant.arrived).total_seconds():.1f}" if ends else ""
    assert participant.plan is not None
    status = "done" if participant.phase == "done" else "unfinished"
    finished = sum(table.end == "finished" for table in tables)
    return [number, status, "+".join(participant.plan.conditions), participant.attempts, finished, seconds]


def game_cells(row: ExportedGame, exported: ExportedStudy) -> list[object]:
    """The cells of a game, by the columns of ``games.csv``."""
    table, seat = row.table, row.seat
    scenario, outcome, other = table.state.scenario, table.state.outcome, table.players[1 - seat]
    result: list[object] = [""] * 4
    if outcome is not None:
        result = [outcome.ending.name, int(outcome.deal), outcome.scores[seat], outcome.scores[1 - seat]]
    numbers = (*scenario.counts, *scenario.utilities[seat], *scenario.utilities[1 - seat])
    partner, other_number = (table.partner, "") if other is None else (PERSON, exported.numbers[other])
    wholes = scenario.pool_value(seat), scenario.pool_value(1 - seat)
    seconds = f"{_seconds_to(row, -1):.1f}" if table.acts else ""
    head = [row.game, row.participant, other_number, row.cluster, row.order, row.condition, partner, seat]
    return [*head, *numbers, table.end, *result, *wholes, len(table.acts), seconds]


def _acts(row: ExportedGame, exported: ExportedStudy) -> list[list[object]]:
    lines, game = [], row.table.game
    for turn, (times, action) in enumerate(zip(row.table.acts, game.state.history, strict=True)):
        participant = row.table.players[turn % 2]
        keeps = action.oA if action.act_type.is_offer else [""] * len(ITEMS)
        seconds = ["" if value is None else f"{value:.3f}" for value in (times.since_shown, times.by_browser)]
        number = "" if participant is None else exported.numbers[participant]
        head = [row.game, turn + 1, turn % 2, number, action.act_type.name]
        lines.append([*head, *keeps, *seconds, f"{_seconds_to(row, turn):.3f}", game.causes[turn]])
    return lines


def _seconds_to(row: ExportedGame, turn: int) -> float:
    """Seconds from the first act of a game to act ``turn``."""
    return (row.table.acts[turn].at - row.table.acts[0].at).total_seconds()


def _answers(number: int, participant: Participant, config: StudyConfig) -> list[list[object]]:
    lines: list[list[object]] = []
    for question in config.questionnaire:
        if question.kind != "text" and question.name in participant.answers:
            answer = int(participant.answers[question.name])
            lines.append([number, question.name, answer, question.options[answer - 1] if question.options else ""])
    return lines


def _record(row: ExportedGame, exported: ExportedStudy) -> str:
    table = row.table
    names = [table.partner if number is None else f"participant {exported.numbers[number]}" for number in table.players]
    return to_line(record_of(table.state, (names[0], names[1])))
