"""Measurement of a model with an adapter on held-out scenarios: points, deals, and legal replies without constraint."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.statistics import points_of_ten
from experiments.post_training.settings import PostTrainingConfig
from league.evaluation.matches import Witness
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.partner import LocalLLMPartner
from partners.llm.prompt import load_template, openings
from partners.llm.reply import LegalReply, legal_rows, read_reply

SPLIT = "test"
_WRITTEN = 48  # tokens at most; a reply takes about 30
_STRANGERS = ("linear", "heuristic")  # players of the games that provide prompts for unconstrained replies


def seat_model(config: PostTrainingConfig, adapter: Path | None, *, temperature: float = 0.0) -> LocalLLMPartner:
    """The model in a seat, with ``adapter`` if any."""
    template = load_template(shipped=config.prompt)
    settings = LocalSettings(
        config.model, temperature, device=config.device, dtype=config.dtype,
        adapter=None if adapter is None else str(adapter),
    )  # fmt: skip
    client = LocalClient(settings, openings=openings(template))
    samples = 1 if temperature == 0 else 1000
    return LocalLLMPartner(client, client, template, samples=samples)


def held_out_scenarios(config: PostTrainingConfig) -> Scenarios:
    """The held-out scenarios, the same each time."""
    table = open_source("lewis", split=SPLIT).table
    assert table is not None
    some = generator(config.seed, "held-out scenarios").permutation(table.size)[: config.held_out.scenarios]
    return table.rows(np.sort(some))


def measure_model(config: PostTrainingConfig, adapter: Path | None, raw: int = 0) -> dict[str, Any]:
    """JSON values: points ``[2][K]`` and deals by partner and seat; ``raw``: number of unconstrained replies."""
    began = time.process_time()
    model, table, rules = seat_model(config, adapter), held_out_scenarios(config), Rules(config.games.max_turns)
    source, partners = open_source("lewis", split=SPLIT), {}
    for number, name in enumerate(config.held_out.against):
        other = seat_occupant(name)
        games = [
            rollout(
                (model, other) if seat == 0 else (other, model), table, rules, seed=config.seed,
                index=(number, seat), prior=source.prior,
            )
            for seat in (0, 1)
        ]  # fmt: skip
        scores = [points_of_ten(each.scores, table.pool_values) for each in games]
        partners[name] = {
            "points": [score[:, seat].round(4).tolist() for seat, score in enumerate(scores)],
            "partner_points": [score[:, 1 - seat].round(4).tolist() for seat, score in enumerate(scores)],
            "deals": [each.deal.astype(int).tolist() for each in games],
        }
    tally = model.tally
    found: dict[str, Any] = {
        "partners": partners,
        "decisions": tally["decisions"],
        "legal": tally["free"],
        "seconds": round(time.process_time() - began, 1),
    }
    return {**found, "raw": count_legal_replies(config, model, raw)} if raw else found


def count_legal_replies(config: PostTrainingConfig, model: LocalLLMPartner, number: int) -> dict[str, int]:
    """Count the legal ones among unconstrained replies to ``number`` prompts of other players' games."""
    import torch

    read, table = model.local.load(), held_out_scenarios(config)
    witness = Witness(seat_occupant(_STRANGERS[0]))
    for seat in (0, 1):
        other = seat_occupant(_STRANGERS[1])
        rollout(
            (witness, other) if seat == 0 else (other, witness), table, Rules(config.games.max_turns),
            seed=config.seed, index=(seat,), prior="lewis",
        )  # fmt: skip
    posed = [
        pair for turns in witness.turns for pair in zip(model.template.render(turns), legal_rows(turns), strict=True)
    ]
    order = generator(config.seed, "written").permutation(len(posed))[:number].tolist()
    legal = 0
    for row in order:
        prompt, open_ = posed[row]
        tokens = torch.tensor(read.prompts([prompt]), device=read.model.device)
        with torch.inference_mode():
            made = read.model.generate(  # type: ignore[operator]
                tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=_WRITTEN, do_sample=False,
                pad_token_id=read.tokenizer.eos_token_id,
            )  # fmt: skip
        text = str(read.tokenizer.decode(made[0, tokens.shape[1] :], skip_special_tokens=True))
        legal += isinstance(read_reply(text, open_), LegalReply)
    return {"asked": len(order), "legal": legal}
