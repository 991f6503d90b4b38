"""Training of a language model's adapter: filtered behaviour cloning, then a gradient over exact line values.

Only the adapter changes. A checkpoint folder has it in peft's format, so that ``llm(adapter=FOLDER)`` and other
programs can use it, with the optimiser's state.

The gradient samples nothing from the model. Positions come from games that it plays itself; in each, the probability of
every legal line has a gradient (:func:`.packing.line_log_probs`), and every line has an exact value: that of the best
response to the partner after it. The loss is the negated expected value. This is the gradient of an expert's
cost-to-go (Sun et al. 2017, AggreVaTeD, arXiv 1703.01030, section 3), not of the model's own returns, which would take
a game per line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Doubles
from experiments.post_training.examples import SPLIT, Example
from experiments.post_training.held_out import seat_model
from experiments.post_training.packing import line_log_probs, pack_prompts, token_losses
from experiments.post_training.settings import AdapterSection, CloningSection, PostTrainingConfig
from league.evaluation.matches import Witness
from partners.llm.diagnosis import ActValues, act_values_against
from partners.llm.local.legal_lines import line_stem
from partners.llm.local.model import LocalModel, ignore_future_warnings, load_model
from partners.llm.prompt import Template
from partners.llm.reply import Legal, legal_rows

if TYPE_CHECKING:
    from peft import LoraConfig
    from transformers import PreTrainedModel

    from dond_marl.game import Action


DONE = "adapter_model.safetensors"  # of a complete folder: it is renamed at the end
_REMEMBERED = "optimiser.pt"
_GRAD_NORM = 1.0
_END = "1.0}"  # a confidence, and the end of a reply


@dataclass
class Trainee:
    """A model with an adapter, and the optimiser of the adapter's weights."""

    read: LocalModel  # its model contains the adapter
    optimiser: torch.optim.AdamW

    def step(self, losses: list[Tensor], lr: float) -> float:
        """One optimiser step on accumulated gradients; returns the mean of ``losses``."""
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        torch.nn.utils.clip_grad_norm_(self._trained(), _GRAD_NORM)
        self.optimiser.step()
        self.optimiser.zero_grad()
        return float(torch.stack(losses).mean())

    def prompts(self, texts: list[str]) -> list[list[int]]:
        """Prompts as tokens."""
        return self.read.prompts(texts)

    def replies(self, actions: list[Action]) -> list[list[int]]:
        """Replies as tokens, with the end token."""
        end = self.read.tokenizer.eos_token_id
        tail = [*self.read.encode([_END])[0], *([end] if isinstance(end, int) else [])]
        return [[*tokens, *tail] for tokens in self.read.encode([line_stem(action) for action in actions])]

    def legal(self, legal: Legal) -> list[list[int]]:
        """All legal lines as tokens, without confidence, in the order of :meth:`Legal.actions`."""
        return self.read.encode([line_stem(action) for action in legal.actions()])

    def save(self, folder: Path) -> None:
        """Write adapter and optimiser to ``folder``, atomically."""
        from peft import PeftModel

        unfinished = folder.with_name(f"{folder.name}.new")
        assert isinstance(self.read.model, PeftModel)
        self.read.model.save_pretrained(str(unfinished))
        (unfinished / "README.md").unlink(missing_ok=True)  # an empty template
        settings = json.loads((unfinished / "adapter_config.json").read_text(encoding="utf-8"))
        settings["base_model_name_or_path"] = None  # a path on this machine
        (unfinished / "adapter_config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
        torch.save(self.optimiser.state_dict(), unfinished / _REMEMBERED)
        unfinished.replace(folder)

    def _trained(self) -> list[torch.nn.Parameter]:
        return [weight for weight in self.read.model.parameters() if weight.requires_grad]


def load_trainee(config: PostTrainingConfig, begun: Path | None = None, *, anew: bool = False) -> Trainee:
    """The model with a new adapter, or with that of ``begun``; ``anew``: with a new optimiser.

    Raises :class:`partners.llm.client.SetupError`.
    """
    from peft import PeftModel, get_peft_model

    read = load_model(config.model, device=config.device, dtype=config.dtype)
    if begun is None:
        with torch.random.fork_rng(devices=[]), ignore_future_warnings():
            torch.manual_seed(config.seed)
            model: Any = get_peft_model(read.model, _lora_config(config.adapter, read.model))
    else:
        with ignore_future_warnings():
            model = PeftModel.from_pretrained(read.model, str(begun), is_trainable=True)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=0.0, weight_decay=0.0)
    if begun is not None and not anew:
        optimiser.load_state_dict(torch.load(begun / _REMEMBERED, weights_only=True, map_location=config.device))
    model.train()
    return Trainee(LocalModel(model, read.tokenizer, read.source), optimiser)


def _lora_config(section: AdapterSection, model: PreTrainedModel) -> LoraConfig:
    from peft import LoraConfig

    layers = int(model.config.get_text_config().num_hidden_layers)
    some = None if section.layers is None else list(range(max(0, layers - section.layers), layers))
    head = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    linear = {name for name, part in model.named_modules() if isinstance(part, torch.nn.Linear) and part is not head}
    return LoraConfig(
        r=section.rank,
        lora_alpha=section.alpha,
        target_modules=sorted({name.rpartition(".")[2] for name in linear}),
        layers_to_transform=some,
        task_type="CAUSAL_LM",
    )


_LAST = 0.1  # share of lr at the end


def cloning_steps(section: CloningSection, examples: int) -> int:
    """Steps of all passes over the examples."""
    return section.epochs * math.ceil(examples / section.batch)


def train_by_cloning(
    trained: Trainee, examples: Sequence[Example], section: CloningSection, seed: int, steps: range,
    report: Callable[[str], None],
) -> None:  # fmt: skip
    """Take the steps ``steps``; their examples and learning rates are functions of the step numbers."""
    total, round_length = cloning_steps(section, len(examples)), math.ceil(len(examples) / section.batch)
    for step in steps:
        epoch, place = divmod(step, round_length)
        order = generator(seed, "post-training", epoch).permutation(len(examples))
        batch = [examples[row] for row in order[place * section.batch : (place + 1) * section.batch].tolist()]
        pack = pack_prompts(
            trained.prompts([each.prompt for each in batch]),
            [[reply] for reply in trained.replies([each.action for each in batch])],
        )
        loss = token_losses(trained.read.model, pack).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        mean = trained.step([loss.detach()], section.lr * learning_rate_share(step, total, section.warm))
        if not (step + 1) % 10 or step + 1 == total:
            report(f"step {step + 1} of {total}: loss {mean:.3f}")


def learning_rate_share(step: int, total: int, warm: int) -> float:
    """The share of the learning rate at a step: linear warm-up, then a cosine."""
    falling = _LAST + (1 - _LAST) * 0.5 * (1 + np.cos(np.pi * step / max(total, 1)))
    return float(min(1.0, (step + 1) / (warm + 1)) * falling)


class ValuedPosition(NamedTuple):
    """A prompt, and the value of each of its legal lines, in the order of :meth:`Legal.actions`."""

    prompt: str
    legal: Legal
    worths: Doubles  # points of ten


def check_partners(config: PostTrainingConfig) -> None:
    """Raise :class:`InputError` for a partner without exact line values, before any training."""
    source, rules = open_source("lewis", split=SPLIT), Rules(config.games.max_turns)
    for name in config.gradient.partners if config.gradient.steps else ():
        if act_values_against(seat_occupant(name), rules, source.prior, source.block(0, 0, 1).scenario(0)) is None:
            raise InputError(f"values of acts against {name} are not known exactly: name other gradient.partners")


def collect_positions(config: PostTrainingConfig, template: Template, adapter: Path, step: int) -> list[ValuedPosition]:
    """Positions of games of the model with ``adapter`` on training scenarios, each prompt and partner once."""
    section, rules = config.gradient, Rules(config.games.max_turns)
    source = open_source("lewis", split=SPLIT)
    model = seat_model(config, adapter, temperature=1.0)
    found: dict[tuple[str, str], ValuedPosition] = {}
    for number, name in enumerate(section.partners):
        partner = seat_occupant(name)
        table = source.block(config.seed, 1000 + step * len(section.partners) + number, section.scenarios)
        worths = ActValues(partner, rules, source.prior)
        for seat in (0, 1):
            witness = Witness(model)
            pair = (witness, partner) if seat == 0 else (partner, witness)
            played = rollout(pair, table, rules, seed=config.seed, index=(step, number, seat), prior=source.prior)
            for turns in witness.turns:
                rows = np.flatnonzero(played.turns > turns.turns_taken).tolist()
                for place, (text, legal) in enumerate(zip(template.render(turns), legal_rows(turns), strict=True)):
                    if (text, name) not in found:
                        scenario = table.scenario(rows[place])
                        of_action = worths.at_state(
                            worths.position(scenario, turns.history.act[place], turns.history.oA[place])
                        )
                        values = np.array([of_action[action] for action in legal.actions()])
                        found[text, name] = ValuedPosition(text, legal, values * 10 / scenario.pool_value(seat))
    return list(found.values())


def train_by_gradient(
    trained: Trainee, open_positions: Sequence[ValuedPosition], config: PostTrainingConfig, steps: range,
    report: Callable[[str], None],
) -> None:  # fmt: skip
    """Take the steps ``steps``, each along the gradient of the expected value of lines in some positions."""
    section, model = config.gradient, trained.read.model
    order = generator(config.seed, "positions", steps.start).permutation(len(open_positions))
    for step in steps:
        first = (step - steps.start) * section.states
        some = [open_positions[row] for row in np.take(order, range(first, first + section.states), mode="wrap")]
        losses = []
        for start in range(0, len(some), section.pack):
            part = some[start : start + section.pack]
            pack = pack_prompts(
                trained.prompts([each.prompt for each in part]), [trained.legal(each.legal) for each in part]
            )
            probs = line_log_probs(model, pack).exp()
            worth = np.concatenate([each.worths - each.worths.max() for each in part])  # regret
            lost = -(probs * torch.tensor(worth, dtype=probs.dtype, device=probs.device)).sum() / len(some)
            lost.backward()  # type: ignore[no-untyped-call]
            losses.append(lost.detach())
        mean = trained.step(losses, section.lr)
        report(f"step {step + 1}: an act loses {mean * len(losses):.2f} points on average")
