"""The games of a league as a folder that a hub of data sets takes: transcripts as JSON lines, a card, the licence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from dond_marl.records.files import atomic_replace, write_atomically
from dond_marl.records.record import records_of, to_line
from dond_marl.records.transcript import transcript
from league.cli.sharing.folder import ours
from league.ledger.verify import legs_with_order, replay_leg
from league.tables.export import open_run

TRANSCRIPTS = "data/transcripts.jsonl"
CARD = """---
license: {licence}
pretty_name: {name}
language: [en]
size_categories: [{size}]
task_categories: [reinforcement-learning, text-generation]
tags: [negotiation, multi-agent, self-play, deal-or-no-deal]
configs:
- config_name: default
  data_files: [{{split: train, path: data/transcripts.jsonl}}]
---

# {name}

{games:,} negotiations of {members} members of a league of `dond-marl`: *Deal or No
Deal* (Lewis et al. 2017) over dialogue acts. No person took part: every sentence is made from an act.

| field | what it is |
|---|---|
| `round` | of the league, 1 for the first |
| `seat_0`, `seat_1` | who sat there; seat_0 opens |
| `transcript` | the table, both seats' values, every act as a sentence, and the outcome |
| `record` | the same as one JSON value that dond-marl replays and verifies (`dond_marl.records.record.from_json`) |

Scenarios: {source}. Members: {names}.
{left_out}"""
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
FILES = ("LICENSE", "README.md", TRANSCRIPTS)
LICENCES = {
    "cc0-1.0": "CC0 1.0 Universal, https://creativecommons.org/publicdomain/zero/1.0/legalcode\n",
    "cc-by-nc-4.0": "CC BY-NC 4.0, https://creativecommons.org/licenses/by-nc/4.0/legalcode\n\n"
    "The scenarios are those of facebookresearch/end-to-end-negotiator (Lewis et al. 2017), whose licence this is.\n",
}
PUBLISHED = ("self_play", "dialogues")  # sources of scenarios that are published files


def write_transcripts(run: Path, folder: Path, name: str, tell: Callable[[str], None]) -> int:
    """Write the folder of the data set ``name``; how many games it holds.

    ``tell`` hears of games that cannot be played again, which are left out: those of language models and people.
    Raises :class:`league.ledger.ledger.LedgerError`, and what :func:`ours` raises.
    """
    ours(folder, FILES)
    count, missing, members = 0, 0, set[str]()
    with open_run(run) as (ledger, directory):
        config = ledger.config()
        (folder / "data").mkdir(parents=True, exist_ok=True)
        with (
            atomic_replace(folder / TRANSCRIPTS) as temporary,
            temporary.open("w", encoding="utf-8") as file,
        ):
            for number in range(ledger.next_round):
                for order, leg in legs_with_order(ledger, number):
                    games = replay_leg(config, ledger, directory.blobs, number, order, leg)
                    if isinstance(games, str):
                        missing += len(leg.facts)
                        tell(f"the games of {leg.seats[0]} and {leg.seats[1]} in round {number + 1} {games}")
                        continue
                    members |= {*leg.seats}
                    for record in records_of(games, leg.seats):
                        row = {"round": number + 1, "seat_0": leg.seats[0], "seat_1": leg.seats[1]}
                        line = {**row, "transcript": transcript(record), "record": json.loads(to_line(record))}
                        file.write(json.dumps(line, ensure_ascii=False) + "\n")
                        count += 1
    size = next((words for most, words in SIZES if count < most), "n>1M")
    named = ", ".join(f"`{member}`" for member in sorted(members))
    gone = f"{missing:,} games are left out: they cannot be played again.\n" if missing else ""
    source = f"`{config.env.scenarios}`, split `{config.env.split or 'all'}`"
    licence = "cc-by-nc-4.0" if config.env.scenarios in PUBLISHED else "cc0-1.0"
    text = CARD.format(
        licence=licence,
        name=name,
        size=size,
        games=count,
        members=len(members),
        source=source,
        names=named,
        left_out=gone,
    )
    write_atomically(folder / "README.md", text)
    write_atomically(folder / "LICENSE", LICENCES[licence])
    return count
