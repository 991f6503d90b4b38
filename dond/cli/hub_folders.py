"""Folders for the Hugging Face hub: a checkpoint as a model, a league's games as a data set.

A folder holds the files written for the hub and no other, as all of it is uploaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

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
    "cc0-1.0": "CC0 1.0 Universal, https://creativecommons.org/publicdomain/zero/1.0/legalcode",
}
SOURCE = "facebookresearch/end-to-end-negotiator (Lewis et al. 2017)"
MODEL_FILES = ("LICENSE", "README.md", "model.json", "model.safetensors", "scores.json")
TRANSCRIPTS = "data/transcripts.jsonl"
DATA_FILES = ("LICENSE", "README.md", TRANSCRIPTS)
SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}  # by the number below it
PUBLISHED = ("self_play", "dialogues")  # sources of scenarios that are published files


def write_model(checkpoint: Path, folder: Path, name: str, sample: int | None = None) -> None:
    """Write the folder of a model called ``name``; scores are over ``sample`` held-out scenarios, by default all.

    Raises :class:`partners.network.checkpoint_files.CheckpointError`, and what :func:`check_folder` raises.
    """
    weights = load_checkpoint(checkpoint)
    network, about = weights.network(), weights.about
    _check_note(checkpoint, about)
    from_people = _from_people(about)
    licence = "cc-by-nc-4.0" if from_people else "mit"
    check_folder(folder, MODEL_FILES)
    scores, label = _scores(seated(str(checkpoint), greedy=True), sample)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {key: value for key, value in weights.tensors.items() if key.startswith(NETWORK)}
    note = {key: about[key] for key in about.keys() - {"format", "sha256", "note_sha256", "counters", "past"}}
    save_checkpoint(folder / "model.json", tensors, {**note, **network_note(network)})
    write_atomically(folder / "scores.json", json.dumps({"on": label, "against": scores}, indent=1) + "\n")
    given = "\nThe weights in this folder are given under this licence.\n"
    source = f"They were trained on data of {SOURCE}.\n" if from_people else ""
    write_atomically(folder / "LICENSE", f"{LICENCES[licence]}\n{given}{source}")
    facts = {"from_people": from_people, "about": about, "opponents": about.get(MET, [])}
    _write_card(folder, "model_card.md.j2", name=name, licence=licence, scores=scores, scenarios=label, **facts)


def _write_card(folder: Path, template: str, **facts: Any) -> None:
    loader = FileSystemLoader(Path(__file__).parent)
    engine = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    engine.filters["quoted"] = json.dumps
    write_atomically(folder / "README.md", engine.get_template(template).render(facts) + "\n")


def _check_note(checkpoint: Path, about: dict[str, Any]) -> None:
    """Raise :class:`CheckpointError` where an entry of the note that the card shows is of another type."""
    opponents = about.get(MET, [])
    if not isinstance(opponents, list) or not all(isinstance(name, str) for name in opponents):
        raise CheckpointError(f"{checkpoint}: its note is damaged: {MET} must be a list of names")
    if not isinstance(about.get("reward", ""), str):
        raise CheckpointError(f"{checkpoint}: its note is damaged: reward must be a text")
    for name, value in about.items():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise CheckpointError(f"{checkpoint}: its note is damaged: {name} holds half a character") from None


def _from_people(about: dict[str, Any]) -> bool:
    """Whether the policy, or a network that it was initialised from, was trained on the published dialogues."""
    past = read_past(about)
    makers = {ITSELF, *past.descends_from}
    cloned = any(name.startswith(HUMAN_DIALOGUES) and by in makers for name, by in past.through.items())
    return cloned or about.get("taught_by") == HUMAN_DIALOGUES


def _scores(player: Partner, sample: int | None) -> tuple[dict[str, dict[str, Any]], str]:
    terms = heldout_terms()
    terms = terms._replace(scenarios=scenarios_of(terms.source, sample, terms.seed))
    figures = {}
    for name in ("heuristic", *roster(DEV)):
        result = score(player, seat_occupant(name), terms)
        points, low, high, deals = (
            round(x, 4) for x in (result.points.mean, result.points.low, result.points.high, result.deals)
        )
        figures[name] = {"points": points, "low": low, "high": high, "deals": deals, "games": result.points.n}
    return figures, f"{terms.scenarios.size:,} scenarios of {terms.source.label}"


def write_transcripts(run: Path, folder: Path, name: str, notify: Callable[[str], None]) -> int:
    """Write the folder of the data set ``name``; returns its number of games.

    ``notify`` receives a sentence on games that cannot be replayed and are left out: those of language models and
    people. Raises :class:`league.ledger.ledger.LedgerError`, and what :func:`check_folder` raises.
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
    licence = "cc-by-nc-4.0" if config.env.scenarios in PUBLISHED else "cc0-1.0"
    source = f"\nThe scenarios are those of {SOURCE}, whose licence this is.\n" if licence != "cc0-1.0" else ""
    write_atomically(folder / "LICENSE", f"{LICENCES[licence]}\n{source}")
    size = next((words for most, words in SIZES.items() if count < most), "n>1M")
    facts = {"games": count, "members": sorted(members), "env": config.env, "missing": missing}
    _write_card(folder, "data_card.md.j2", name=name, licence=licence, size=size, **facts)
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
