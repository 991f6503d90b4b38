"""Trained adapters of local models."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from dond_marl.occupants import seat_occupant
from partners.llm.client import Query, SetupError
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.local.model import load_model
from partners.llm.reply import Legal
from tests.tiny_models import tiny_model

pytestmark = [
    pytest.mark.skipif(find_spec("peft") is None, reason="the extra lora brings peft"),  # which is slow to import
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`"),  # of the library, in the test's own calls
]
ASK = Query("Pool 2,1,1. Your values 2,3,3. Reply:", Legal((2, 1, 1), (0, 1, 3, 4)))


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> tuple[Path, Path]:
    """A model, and an adapter that changes what it says."""
    import peft

    folder = tmp_path_factory.mktemp("adapter")
    base = tiny_model(folder / "model")
    model = load_model(str(base)).model
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        trained = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj", "up_proj"]))
        for name, weight in trained.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight, std=2.0)
    trained.save_pretrained(str(folder / "adapter"))
    return base, folder / "adapter"


def test_adapter_weights_are_merged(folders):
    """The seat computes what the library computes with the adapter beside the model."""
    import peft

    base, adapter = folders
    with_it = LocalClient(LocalSettings(str(base), 1.0, adapter=str(adapter)))
    without = LocalClient(LocalSettings(str(base), 1.0))
    assert abs(with_it.scores([ASK])[0] - without.scores([ASK])[0]).max() > 1e-3
    assert with_it.identity != without.identity
    beside = peft.PeftModel.from_pretrained(load_model(str(base)).model, str(adapter)).eval()
    tokens = torch.tensor(with_it.load().prompts([ASK.prompt]))
    with torch.inference_mode():
        merged, apart = (each(tokens).logits[0, -1] for each in (with_it.load().model, beside))
    assert torch.allclose(merged, apart, atol=1e-4)


def test_invalid_adapter(folders, tmp_path):
    base, _ = folders
    with pytest.raises(SetupError, match="no adapter"):
        LocalClient(LocalSettings(str(base), adapter=str(tmp_path))).load()
    other = tiny_model(tmp_path / "other", "gpt2")
    with pytest.raises(SetupError, match="not fit"):
        LocalClient(LocalSettings(str(other), adapter=str(folders[1]))).load()
    with pytest.raises(ValueError, match="trained on"):
        seat_occupant(f"llm(provider=hf, adapter={str(folders[1])!r})")
    with pytest.raises(ValueError, match="got 3"):
        seat_occupant("llm(provider=hf, model=any, adapter=3)")
