"""A checkpoint as a folder that a hub of models takes: safetensors, their note, scores, a card and the licence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dond_marl.errors import InputError, quote
from dond_marl.occupants import seat_occupant
from dond_marl.records.files import write_atomically
from dond_marl.seats import Partner
from league.cli.sharing.folder import ours
from league.evaluation.evaluate import scenarios_of
from league.evaluation.matches import heldout_terms, score
from league.ledger.run_directory import SETTINGS, find_run
from league.training.training import checkpoints_in
from partners.network.checkpoint import NETWORK, load_checkpoint, network_note, save_checkpoint
from partners.network.occupants import HUMAN_DIALOGUES
from partners.network.occupants import checkpoint as seated
from partners.provenance import ITSELF, read_past
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

Points of ten (tenths of what the whole pool is worth to the seat, no deal being 0) on {scenarios},
in both seats, default rules, its likeliest act every time; the interval is 95 %, over scenarios.

| partner | points of ten | deals | games |
|---|---|---|---|
{rows}
Scores against partners that it has met while it learned say less of strangers. It has met: {met}.

## Use

```sh
dond evaluate --member "checkpoint(path='model.json', greedy=True)" --against heuristic
```

`model.safetensors` holds the weights, `model.json` what they are, with checksums of both; nothing is unpickled.

## Limits

It negotiates over three types of items by five acts, not in words, and plays for its own points alone. Nothing here
says how it does against people.
"""


def checkpoint_of(model: str) -> Path:
    """The note of the checkpoint that ``model`` names: a ``.json``, or the newest one in a training's folder."""
    path = Path(model).expanduser()
    if path.suffix == ".json":
        return path
    found = sorted(checkpoints_in(find_run(path, SETTINGS).path), key=lambda each: each.stem)
    if not found:
        raise InputError(f"{quote(model)} holds no checkpoint yet; name the .json of one, or a training's folder")
    return found[-1]


def write_model(checkpoint: Path, folder: Path, name: str, sample: int | None = None) -> None:
    """Write the folder of a model called ``name``; scores are over ``sample`` held-out scenarios, by default all.

    Raises :class:`partners.network.checkpoint_files.CheckpointError`, and what :func:`ours` raises.
    """
    weights = load_checkpoint(checkpoint)
    network, about = weights.network(), weights.about
    taught = _taught_by_people(about)
    licence = "cc-by-nc-4.0" if taught else "mit"
    ours(folder, FILES)
    scores, label = _scores(seated(str(checkpoint), greedy=True), sample)
    folder.mkdir(parents=True, exist_ok=True)
    own = {key: value for key, value in weights.tensors.items() if key.startswith(NETWORK)}
    kept = {key: about[key] for key in about.keys() - {"format", "sha256", "note_sha256", "counters", "past"}}
    save_checkpoint(folder / "model.json", own, {**kept, **network_note(network)})
    write_atomically(folder / "scores.json", json.dumps({"on": label, "against": scores}, indent=1) + "\n")
    write_atomically(folder / "LICENSE", _licence(licence))
    write_atomically(folder / "README.md", _card(name, licence, taught, about, scores, label))


def _taught_by_people(about: dict[str, Any]) -> bool:
    """Whether it, or a network that it was made from, was taught by the published dialogues."""
    past = read_past(about)
    makers = {ITSELF, *past.descends_from}
    learned = any(who.startswith(HUMAN_DIALOGUES) and by in makers for who, by in past.through.items())
    return learned or about.get("taught_by") == HUMAN_DIALOGUES


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
        f"    dataset: {{type: deal-or-no-deal, name: {json.dumps(f'{label}, against {who}')}}}\n"
        f"    metrics: [{{type: points_of_ten, value: {own['points']}, name: points of ten}}]\n"
        for who, own in scores.items()
    )
    rows = "".join(
        f"| `{who}` | {own['points']:.2f} [{own['low']:.2f}, {own['high']:.2f}] "
        f"| {own['deals']:.1%} | {own['games']:,} |\n"
        for who, own in scores.items()
    )
    met = about.get("met") or []
    taught_by = (
        "It was taught by the published human dialogues, whose licence, CC BY-NC 4.0, it keeps."
        if taught
        else f"It was paid `{about.get('reward', 'own')}`."
    )
    return CARD.format(
        name=name,
        licence=licence,
        results=results,
        shape=f"a network with hidden layers of {', '.join(map(str, about['network']['hidden']))}",
        taught=taught_by,
        scenarios=label,
        rows=rows,
        met=", ".join(f"`{each}`" for each in met) or "nobody that is noted",
    )


def _licence(licence: str) -> str:
    return f"{LICENCES[licence]}\n\nThe weights in this folder are given under this licence.\n" + (
        "They were taught by data of facebookresearch/end-to-end-negotiator (Lewis et al. 2017).\n" * (licence != "mit")
    )
