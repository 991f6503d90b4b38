"""Folders for the Hugging Face hub: a checkpoint as a model, a league's games as a data set.

A folder holds the files written for the hub and no other, as all of it is uploaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from dond_marl.errors import InputError
from dond_marl.occupants import seat_occupant
from dond_marl.records.files import atomic_replace, write_atomically
from dond_marl.records.record import records_of, to_line
from dond_marl.records.transcript import transcript
from dond_marl.seats import Partner
from league.evaluation.evaluate import scenarios_of
from league.evaluation.matches import heldout_terms, score
from league.ledger.verify import legs_with_order, replay_leg
from league.tables.export import open_run
from partners.network.checkpoint import NETWORK, load_checkpoint, network_note, save_checkpoint
from partners.network.checkpoint_files import CheckpointError
from partners.network.occupants import HUMAN_DIALOGUES
from partners.network.occupants import checkpoint as seated
from partners.provenance import ITSELF, MET, read_past
from partners.rosters import DEV, roster

LICENCES = {
    "mit": "MIT License",
    "cc-by-nc-4.0": "CC BY-NC 4.0, https://creativecommons.org/licenses/by-nc/4.0/legalcode",
}
FILES = ("LICENSE", "README.md", "model.json", "model.safetensors", "scores.json")
CARD = """---
license: {licence}
library_name: dond-marl
pipeline_tag: reinforcement-learning
tags: [reinforcement-learning, multi-agent, negotiation, deal-or-no-deal, self-play]
model-index:
- name: {name}
  results:
{results}---

# {name}

A policy for *Deal or No Deal* (Lewis et al. 2017) over dialogue acts, as `dond-marl`
plays it: {shape}. {taught}

## Scores

Points of ten (tenths of the whole pool's worth to the seat, no deal being 0) on {scenarios},
in both seats, default rules, its likeliest act every time; the interval is 95 %, over scenarios.

| partner | points of ten | deals | games |
|---|---|---|---|
{rows}
Scores against partners of its training overstate those against new partners. Its training partners: {met}.

## Use

```sh
dond evaluate --member "checkpoint(path='model.json', greedy=True)" --against heuristic
```

`model.safetensors` holds the weights, `model.json` the network's shape and provenance, with checksums of both; nothing
is unpickled.

## Limits

It negotiates over three types of items by five acts, not in sentences. It was not measured against people.
"""


def write_model(checkpoint: Path, folder: Path, name: str, sample: int | None = None) -> None:
    """Write the folder of a model called ``name``; scores are over ``sample`` held-out scenarios, by default all.

    Raises :class:`partners.network.checkpoint_files.CheckpointError`, and what :func:`ours` raises.
    """
    weights = load_checkpoint(checkpoint)
    network, about = weights.network(), weights.about
    _check_note(checkpoint, about)
    taught = _from_people(about)
    licence = "cc-by-nc-4.0" if taught else "mit"
    check_folder(folder, FILES)
    scores, label = _scores(seated(str(checkpoint), greedy=True), sample)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {key: value for key, value in weights.tensors.items() if key.startswith(NETWORK)}
    note = {key: about[key] for key in about.keys() - {"format", "sha256", "note_sha256", "counters", "past"}}
    save_checkpoint(folder / "model.json", tensors, {**note, **network_note(network)})
    write_atomically(folder / "scores.json", json.dumps({"on": label, "against": scores}, indent=1) + "\n")
    write_atomically(folder / "LICENSE", _licence(licence))
    write_atomically(folder / "README.md", _card(name, licence, taught, about, scores, label))


def _check_note(checkpoint: Path, about: dict[str, Any]) -> None:
    """Raise :class:`CheckpointError` where an entry of the note that the card shows is of another type."""
    opponents = about.get(MET, [])
    if not isinstance(opponents, list) or not all(isinstance(name, str) for name in opponents):
        raise CheckpointError(f"{checkpoint}: its note is damaged: {MET} must be a list of names")
    if not isinstance(about.get("reward", ""), str):
        raise CheckpointError(f"{checkpoint}: its note is damaged: reward must be a text")


def _from_people(about: dict[str, Any]) -> bool:
    """Whether the policy, or a network that it was initialised from, was trained on the published dialogues."""
    past = read_past(about)
    makers = {ITSELF, *past.descends_from}
    cloned = any(name.startswith(HUMAN_DIALOGUES) and by in makers for name, by in past.through.items())
    return cloned or about.get("taught_by") == HUMAN_DIALOGUES


def _scores(player: Partner, sample: int | None) -> tuple[dict[str, dict[str, Any]], str]:
    terms = heldout_terms()
    terms = terms._replace(scenarios=scenarios_of(terms.source, sample, terms.seed))
    found = {name: score(player, seat_occupant(name), terms) for name in ("heuristic", *roster(DEV))}
    figures = {
        name: {
            "points": round(result.points.mean, 4),
            "low": round(result.points.low, 4),
            "high": round(result.points.high, 4),
            "deals": round(result.deals, 4),
            "games": result.points.n,
        }
        for name, result in found.items()
    }
    return figures, f"{terms.scenarios.size:,} scenarios of {terms.source.label}"


def _card(
    name: str, licence: str, taught: bool, about: dict[str, Any], scores: dict[str, dict[str, Any]], label: str
) -> str:
    results = "".join(
        f"  - task: {{type: reinforcement-learning, name: negotiation}}\n"
        f"    dataset: {{type: deal-or-no-deal, name: {json.dumps(f'{label}, against {partner}')}}}\n"
        f"    metrics: [{{type: points_of_ten, value: {score['points']}, name: points of ten}}]\n"
        for partner, score in scores.items()
    )
    rows = "".join(
        f"| `{partner}` | {score['points']:.2f} [{score['low']:.2f}, {score['high']:.2f}] "
        f"| {score['deals']:.1%} | {score['games']:,} |\n"
        for partner, score in scores.items()
    )
    opponents = about.get(MET, [])
    taught_by = (
        "It was trained on the published human dialogues, whose licence, CC BY-NC 4.0, applies to it."
        if taught
        else f"Its reward was `{about['reward']}`."
        if "reward" in about
        else "Its reward is not recorded."
    )
    return CARD.format(
        name=name,
        licence=licence,
        results=results,
        shape=f"a network with hidden layers of {', '.join(map(str, about['network']['hidden']))}",
        taught=taught_by,
        scenarios=label,
        rows=rows,
        met=", ".join(f"`{each}`" for each in opponents) or "none recorded",
    )


def _licence(licence: str) -> str:
    return f"{LICENCES[licence]}\n\nThe weights in this folder are given under this licence.\n" + (
        "They were trained on data of facebookresearch/end-to-end-negotiator (Lewis et al. 2017).\n"
        * (licence != "mit")
    )


TRANSCRIPTS = "data/transcripts.jsonl"
DATA_CARD = """---
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
Deal* (Lewis et al. 2017) over dialogue acts. All players are programs: every sentence is made from an act.

| field | content |
|---|---|
| `round` | of the league, 1 for the first |
| `seat_0`, `seat_1` | the players; seat_0 opens |
| `transcript` | the table, both seats' values, every act as a sentence, and the outcome |
| `record` | the same as one JSON value that dond-marl replays and verifies (`dond_marl.records.record.from_json`) |

Scenarios: {source}. Members: {names}.
{left_out}"""
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
DATA_FILES = ("LICENSE", "README.md", TRANSCRIPTS)
DATA_LICENCES = {
    "cc0-1.0": "CC0 1.0 Universal, https://creativecommons.org/publicdomain/zero/1.0/legalcode\n",
    "cc-by-nc-4.0": "CC BY-NC 4.0, https://creativecommons.org/licenses/by-nc/4.0/legalcode\n\n"
    "The scenarios are those of facebookresearch/end-to-end-negotiator (Lewis et al. 2017), whose licence this is.\n",
}
PUBLISHED = ("self_play", "dialogues")  # sources of scenarios that are published files


def write_transcripts(run: Path, folder: Path, name: str, notify: Callable[[str], None]) -> int:
    """Write the folder of the data set ``name``; returns its number of games.

    ``notify`` receives a sentence on games that cannot be replayed and are left out: those of language models and
    people. Raises :class:`league.ledger.ledger.LedgerError`, and what :func:`ours` raises.
    """
    check_folder(folder, DATA_FILES)
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
                        notify(f"the games of {leg.seats[0]} and {leg.seats[1]} in round {number + 1} {games}")
                        continue
                    members |= {*leg.seats}
                    for record in records_of(games, leg.seats):
                        row = {"round": number + 1, "seat_0": leg.seats[0], "seat_1": leg.seats[1]}
                        line = {**row, "transcript": transcript(record), "record": json.loads(to_line(record))}
                        file.write(json.dumps(line, ensure_ascii=False) + "\n")
                        count += 1
    size = next((words for most, words in SIZES if count < most), "n>1M")
    named = ", ".join(f"`{member}`" for member in sorted(members))
    gone = f"{missing:,} games are left out: they cannot be replayed.\n" if missing else ""
    source = f"`{config.env.scenarios}`, split `{config.env.split or 'all'}`"
    licence = "cc-by-nc-4.0" if config.env.scenarios in PUBLISHED else "cc0-1.0"
    text = DATA_CARD.format(
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
    write_atomically(folder / "LICENSE", DATA_LICENCES[licence])
    return count


def check_folder(folder: Path, names: Collection[str]) -> None:
    """Raise :class:`InputError` where ``folder`` is a file, or holds what is not in ``names``.

    ``names``: the files that are written, by their paths in the folder; a folder that holds them is written again.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder}: is a file; name a folder, which is made if need be")
    known = {Path(name) for name in names}
    for path in folder.rglob("*"):
        if not path.is_dir() and path.relative_to(folder) not in known:
            raise InputError(
                f"--out {folder}: holds {path.relative_to(folder)}, which would be uploaded too; name a new folder, or "
                "one that dond push wrote"
            )
    if (folder / "README.md").is_file() and not all((folder / name).is_file() for name in names):
        raise InputError(f"--out {folder}: holds a README.md of something else; name a new folder")
