"""A language model with an adapter in training: made, trained by steps, kept in a folder and taken up again.

Only the adapter changes. A folder holds it as the library peft writes it, so that ``llm(adapter=FOLDER)`` seats it and
any other program of that format can use it, and beside it what the optimiser remembers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from experiments.language_models.post_training.settings import AdapterSection, PostTrainingConfig
from partners.llm.local.legal_lines import line_stem
from partners.llm.local.model import LocalModel, ignore_future_warnings, load_model
from partners.llm.reply import Legal

if TYPE_CHECKING:
    from peft import LoraConfig
    from transformers import PreTrainedModel

    from dond_marl.game import Action

DONE = "adapter_model.safetensors"  # of a folder that is whole: it is renamed when it is
_REMEMBERED = "optimiser.pt"
_GRAD_NORM = 1.0
_END = "1.0}"  # a confidence, and the end of a reply


@dataclass
class Trainee:
    """A model, its adapter, and the optimiser of the adapter's weights."""

    read: LocalModel  # the adapter is inside of its model
    optimiser: torch.optim.AdamW

    def step(self, losses: list[Tensor], lr: float) -> float:
        """One step down the mean of ``losses``, whose gradients were added up before; the mean."""
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        torch.nn.utils.clip_grad_norm_(self._trained(), _GRAD_NORM)
        self.optimiser.step()
        self.optimiser.zero_grad()
        return float(torch.stack(losses).mean())

    def prompts(self, texts: list[str]) -> list[list[int]]:
        return self.read.prompts(texts)

    def replies(self, actions: list[Action]) -> list[list[int]]:
        """Whole replies as tokens, the end of the answer included."""
        end = self.read.tokenizer.eos_token_id
        tail = [*self.read.encode([_END])[0], *([end] if isinstance(end, int) else [])]
        return [[*tokens, *tail] for tokens in self.read.encode([line_stem(action) for action in actions])]

    def legal(self, legal: Legal) -> list[list[int]]:
        """All legal lines up to their confidence, in the order of :meth:`Legal.actions`."""
        return self.read.encode([line_stem(action) for action in legal.actions()])

    def save(self, folder: Path) -> None:
        """Keep all of it in ``folder``, whole or not at all."""
        from peft import PeftModel

        beside = folder.with_name(f"{folder.name}.new")
        assert isinstance(self.read.model, PeftModel)
        self.read.model.save_pretrained(str(beside))
        (beside / "README.md").unlink(missing_ok=True)  # a form that nobody has filled in
        settings = json.loads((beside / "adapter_config.json").read_text(encoding="utf-8"))
        settings["base_model_name_or_path"] = None  # a path on this machine
        (beside / "adapter_config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
        torch.save(self.optimiser.state_dict(), beside / _REMEMBERED)
        beside.replace(folder)

    def _trained(self) -> list[torch.nn.Parameter]:
        return [weight for weight in self.read.model.parameters() if weight.requires_grad]


def trainee(config: PostTrainingConfig, begun: Path | None = None, *, anew: bool = False) -> Trainee:
    """The model with a new adapter, or with that of ``begun``; ``anew``: with an optimiser that remembers nothing.

    Raises :class:`partners.llm.client.SetupError`.
    """
    from peft import PeftModel, get_peft_model

    read = load_model(config.model, device=config.device, dtype=config.dtype)
    if begun is None:
        with torch.random.fork_rng(devices=[]), ignore_future_warnings():
            torch.manual_seed(config.seed)
            model: Any = get_peft_model(read.model, _lora(config.adapter, read.model))
    else:
        with ignore_future_warnings():
            model = PeftModel.from_pretrained(read.model, str(begun), is_trainable=True)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=0.0, weight_decay=0.0)
    if begun is not None and not anew:
        optimiser.load_state_dict(torch.load(begun / _REMEMBERED, weights_only=True, map_location=config.device))
    model.train()
    return Trainee(LocalModel(model, read.tokenizer, read.source), optimiser)


def _lora(section: AdapterSection, model: PreTrainedModel) -> LoraConfig:
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
