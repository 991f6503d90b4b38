"""What may leave a study: CSV files, JSON lines and a codebook, without names, addresses, dates or free text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from dond_marl.game import ITEMS
from dond_marl.records.files import write_atomically
from dond_marl.records.record import record_of, to_line
from league.standings.as_csv import write_csv
from league.web.study.games import Seen, Shuffled, shuffled
from league.web.study.progress import Participant, Progress
from league.web.study.settings import PERSON, StudyConfig

GAMES = "games.csv"
COLUMNS = {
    "participants.csv": {
        "participant": "a number of this export; not the order in which people came",
        "status": "done, or unfinished: the questionnaire was not handed in",
        "conditions": "whom the participant was to meet, in order, with + between",
        "failed_checks": "times that the check was answered wrongly before it was passed",
        "games": "games that ended as the rules have it",
        "seconds": "from the first page to the last thing done at a table",
    },
    GAMES: {
        "game": "number of the game; a game between two people has two rows",
        "participant": "as in participants.csv",
        "other": "the other participant where two people played, otherwise empty",
        "cluster": "participants who met, directly or through others, have one: the unit of doubt",
        "order": "which of the participant's games it was, from 1",
        "condition": "as in the settings; ending in _stand_in where nobody came and an occupant played",
        "partner": "the occupant, or person",
        "seat": "the participant's: 0 opened",
        **{f"{item}s": f"{item}s on the table" for item in ITEMS},
        **{f"{item}_value": f"points of a {item} to the participant" for item in ITEMS},
        **{
            f"{item}_value_other": f"points of a {item} to the other side, which the participant did not see"
            for item in ITEMS
        },
        "ended": "finished, or why not: late or left (somebody said nothing, or stopped), failed (the occupant)",
        "ending": "AGREE, DISAGREE, END or TURN_LIMIT, of finished games",
        "deal": "1 or 0, of finished games",
        "points": "the participant's",
        "points_other": "the other side's",
        "whole": "points of everything on the table to the participant",
        "whole_other": "the same to the other side",
        "acts": "said by both",
        "seconds": "from the first act to the last",
    },
    "acts.csv": {
        "game": "as in games.csv",
        "turn": "from 1",
        "seat": "who said it",
        "participant": "as in participants.csv; empty for an occupant",
        "act": "PROPOSE, INSIST, AGREE, DISAGREE or END",
        **{f"keeps_{item}s": "what the speaker would keep; empty without an offer" for item in ITEMS},
        "seconds": "since the page first showed the turn, by the server's clock; empty for an occupant",
        "seconds_browser": "since the page was last loaded, by the browser's clock; empty where it did not tell",
        "seconds_game": "since the first act of the game was said",
        "cause": "0: a free choice; otherwise why an occupant's fallback was played (dond_marl.seats.Cause)",
    },
    "answers.csv": {
        "participant": "as in participants.csv",
        "question": "its name in the settings",
        "answer": "a number of the scale, or the number of the option from 1",
        "label": "the option; empty for a scale",
    },
}


def export(progress: Progress, folder: Path, seed: int) -> dict[str, int]:
    """Write all files into ``folder``; how many rows each has. Every file is there whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    given, config = shuffled(progress, seed), progress.config
    rows = {
        "participants.csv": [_participant(number, who, given) for number, who in given.people.items()],
        GAMES: [_game(row, given) for row in given.games],
        "acts.csv": [line for row in _tables(given) for line in _acts(row, given)],
        "answers.csv": [line for number, who in given.people.items() for line in _answers(number, who, config)],
    }
    for name, lines in rows.items():
        write_csv(folder / name, [list(COLUMNS[name]), *lines])
    records = [_record(row, given) for row in _tables(given) if row.table.why == "finished"]
    write_atomically(folder / "games.jsonl", "".join(f"{line}\n" for line in records))
    write_atomically(folder / "codebook.md", codebook(progress))
    return {**{name: len(lines) for name, lines in rows.items()}, "games.jsonl": len(records)}


def codebook(progress: Progress) -> str:
    """What the files hold, and what was left out of them; no seed, as that of the study tells who came when."""
    config, phases = progress.config, Counter(each.phase for each in progress.participants)
    left_out = {
        "stopped taking part": phases["withdrawn"],
        "failed the check": phases["excluded"],
        "did not come as far as the games": phases["instructions"] + phases["check"],
    }
    lines = [
        f"# Codebook: {config.study.title}",
        "",
        "Participants have new numbers. There are no names, addresses, dates or free "
        "texts in the files: times are seconds since something that the participant saw. Points are as they were "
        "played for; everything on the table is worth `whole` to the participant.",
        "",
        f"Design {config.study.design}, {config.study.games} games in each condition; {config.env.scenarios}, "
        f"split {config.env.split}; at most {config.env.max_turns} acts.",
        "",
        f"Left out: {'; '.join(f'{number} who {what}' for what, number in left_out.items())}. A game whose other "
        "person stopped taking part is left out with them.",
        "",
        "`games.jsonl` holds the finished games as records of `dond_marl.records.record`, a line each, in the order of "
        "`games.csv`.",
    ]
    for name, columns in COLUMNS.items():
        lines += ["", f"## {name}", "", "| column | what it is |", "|---|---|"]
        lines += [f"| `{column}` | {what} |" for column, what in columns.items()]
    lines += ["", "## Questions", "", "| question | text | answers |", "|---|---|---|"]
    for each in config.questionnaire:
        range_ = {"scale": f"1 ({each.low}) to {each.points} ({each.high})", "choice": ", ".join(each.options)}
        lines.append(
            f"| `{each.name}` | {_cell(each.question)} | {_cell(range_.get(each.kind, 'free text, left out'))} |"
        )
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _tables(given: Shuffled) -> list[Seen]:
    """One row a game."""
    return [row for place, row in enumerate(given.games) if not place or given.games[place - 1].game != row.game]


def _participant(number: int, who: Participant, given: Shuffled) -> list[str]:
    mine = [row.table for row in given.games if row.participant == number]
    ended = [table.said[-1].at for table in mine if table.said]
    seconds = f"{(max(ended) - who.came).total_seconds():.1f}" if ended else ""
    assert who.plan is not None
    status = "done" if who.phase == "done" else "unfinished"
    finished = sum(table.why == "finished" for table in mine)
    return [str(number), status, "+".join(who.plan.conditions), str(who.attempts), str(finished), seconds]


def _game(row: Seen, given: Shuffled) -> list[str]:
    table, seat = row.table, row.seat
    scenario, outcome, other = table.state.scenario, table.state.outcome, row.other
    ended = ["", "", "", ""]
    if outcome is not None:
        mine, theirs = outcome.scores[seat], outcome.scores[1 - seat]
        ended = [outcome.ending.name, str(int(outcome.deal)), str(mine), str(theirs)]
    numbers = (*scenario.counts, *scenario.utilities[seat], *scenario.utilities[1 - seat])
    partner = PERSON if other is not None else table.partner
    return [
        *(str(number) for number in (row.game, row.participant)),
        "" if other is None else str(given.numbers[other]),
        *(str(each) for each in (row.cluster, row.order, row.condition, partner, seat, *numbers, table.why)),
        *ended,
        *(str(number) for number in (scenario.pool_value(seat), scenario.pool_value(1 - seat), len(table.said))),
        f"{_since(row, -1):.1f}" if table.said else "",
    ]


def _acts(row: Seen, given: Shuffled) -> list[list[str]]:
    lines = []
    for turn, said in enumerate(row.table.said):
        who = row.table.players[turn % 2]
        keeps = [str(number) for number in said.action.oA] if said.action.act_type.is_offer else [""] * len(ITEMS)
        times = ["" if seconds is None else f"{seconds:.3f}" for seconds in (said.since_shown, said.by_browser)]
        number = "" if who is None else str(given.numbers[who])
        head = [str(row.game), str(turn + 1), str(turn % 2), number, said.action.act_type.name]
        lines.append([*head, *keeps, *times, f"{_since(row, turn):.3f}", str(said.cause)])
    return lines


def _since(row: Seen, turn: int) -> float:
    """Seconds from the first act of a game to another."""
    return (row.table.said[turn].at - row.table.said[0].at).total_seconds()


def _answers(number: int, who: Participant, config: StudyConfig) -> list[list[str]]:
    lines = []
    for each in config.questionnaire:
        if each.kind != "text" and each.name in who.answers:
            answer = int(who.answers[each.name])
            lines.append([str(number), each.name, str(answer), each.options[answer - 1] if each.options else ""])
    return lines


def _record(row: Seen, given: Shuffled) -> str:
    table = row.table
    names = [table.partner if who is None else f"participant {given.numbers[who]}" for who in table.players]
    return to_line(record_of(table.state, (names[0], names[1])))
