"""A causal language model of Hugging Face from a folder on disk: weights, tokens, chat template or none.

Nothing is fetched unless ``download`` is set, no code of the model's own is run, and weights are read from safetensors
or GGUF alone, which cannot hold code. A chat template is a program too, in a sandbox: use models that you trust.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dond_marl.errors import error_line
from dond_marl.files import user_path
from partners.llm.client import SetupError
from partners.llm.prompt import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SMALL_MODEL = "the small model of this package"  # a name in place of a folder; it imitates the expert
Dtype = Literal["auto", "float32", "bfloat16", "float16"]  # of a local model's weights
_HASHED = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.gguf")  # what a model's answers depend on
_BLOCK = 1 << 20
# Chat templates may ask for today's date, by strftime_now(format). A macro of that name hides the function: always the
# date that Llama 3's template falls back to, so that replies depend on no clock and no locale.
_DATE = {
    "F": "%Y-%m-%d", "Y": "2024", "y": "24", "m": "07", "-m": "7", "B": "July", "b": "Jul", "d": "26", "-d": "26",
    "A": "Friday", "a": "Fri", "H": "12", "I": "12", "M": "00", "S": "00", "p": "PM",
}  # fmt: skip
_REPLACED = "".join(f"|replace('%{directive}', '{text}')" for directive, text in _DATE.items())
_FIXED_DATE = f"{{% macro strftime_now(format) %}}{{{{ format{_REPLACED} }}}}{{% endmacro %}}\n"  # "\n" is trimmed
_FOLLOWING = ("0", "10", "x", " ", "\n", "(", "")  # possible continuations of a prompt


def model_path(source: str | Path) -> Path:
    """The path of the model ``source``, which may be :data:`SMALL_MODEL`; it need not exist."""
    return Path(__file__).parents[1] / "small_model" if source == SMALL_MODEL else user_path(source)


@dataclass
class LocalModel:
    """A loaded model with its tokenizer and chat template."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    source: str  # its name in messages

    def check_length(self, tokens: int) -> None:
        """Raise :class:`SetupError` if the model reads fewer than these ``tokens``, of a prompt with its reply."""
        longest = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        if longest and tokens > longest:
            raise SetupError(
                f"the model {self.source} reads at most {longest} tokens, and a prompt with its reply takes {tokens}: "
                "lower history_cap or examples, use a shorter prompt, or another model"
            )

    def encode(self, texts: list[str]) -> list[list[int]]:
        """Texts as tokens, nothing added."""
        tokens: list[list[int]] = self.tokenizer(texts, add_special_tokens=False)["input_ids"]
        return tokens

    def prompts(self, texts: Sequence[str]) -> list[list[int]]:
        """Prompts as tokens: as a user's message where the model has a chat template, otherwise as they are.

        If the template has no system message, both messages are one.
        """
        if not texts:
            return []
        if self.tokenizer.chat_template is None:
            tokens: list[list[int]] = self.tokenizer(list(texts))["input_ids"]  # with the model's first token, if any
            end = self.tokenizer.eos_token_id
            return [row[:-1] if row and row[-1] == end else row for row in tokens]
        return self.encode([self._chat(text) for text in texts])

    def common_prefixes(self, openings: Sequence[str]) -> list[list[int]]:
        """The tokens that all prompts beginning with an opening have in common, for each of ``openings``.

        The text after an opening may change the tokens of its last characters: those are left out. The caller must
        still compare them with the tokens of the whole prompt.
        """
        return [common_beginning(self.prompts([opening + more for more in _FOLLOWING])) for opening in openings]

    def _chat(self, text: str) -> str:
        user = {"role": "user", "content": text if self._has_system_message else f"{SYSTEM}\n\n{text}"}
        return self.render_chat([{"role": "system", "content": SYSTEM}, user] if self._has_system_message else [user])

    @cached_property
    def _has_system_message(self) -> bool:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "A question."}]
        try:
            return SYSTEM in self.render_chat(messages)
        except SetupError:
            return False

    def render_chat(self, messages: list[dict[str, str]]) -> str:
        """A chat as one text, up to the model's answer; for a model with a chat template.

        Templates that ask for the date get a fixed one, so that the text depends on the messages alone. Raises
        :class:`SetupError` for a template that fails, or that leaves out the last message.
        """
        try:
            # enable_thinking: reasoning models answer at once; other templates ignore it.
            text = str(self.tokenizer.apply_chat_template(
                messages, chat_template=_FIXED_DATE + self.tokenizer.get_chat_template(), tokenize=False,
                add_generation_prompt=True, enable_thinking=False,
            ))  # fmt: skip
            if messages[-1]["content"].strip() not in text:
                raise ValueError("it leaves out the question")
        except Exception as error:  # noqa: BLE001  # a template is a program
            raise SetupError(
                f"the chat template of the model {self.source} cannot be used: {error_line(error)}; use another model"
            ) from None
        return text


def load_model(
    source: str,
    *,
    download: bool = False,
    revision: str | None = None,
    device: str = "cpu",
    dtype: Dtype = "auto",
) -> LocalModel:
    """The model in the folder ``source``, or of that name in the local cache; with ``download`` also one on the hub.

    ``source`` may also be a GGUF file, which needs the packages ``gguf`` and ``accelerate``. ``dtype``: of the weights
    and the computation, by default that of the folder, float32 for GGUF; a CPU computes float16 weights in float32, as
    it has no fast float16 products. Raises :class:`SetupError`.
    """
    import torch
    from huggingface_hub import snapshot_download
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    folder = model_path(source)
    options: dict[str, Any] = {"local_files_only": not download, "trust_remote_code": False, "revision": revision}
    weights: dict[str, Any] = {"use_safetensors": True, "dtype": dtype}
    if folder.suffix.lower() == ".gguf" and folder.is_file():
        options["gguf_file"] = folder.name
        weights = {
            "quantization_config": GgufConfig(dequantize=True), "dtype": "float32" if dtype == "auto" else dtype
        }  # fmt: skip
        folder = folder.parent
    if not folder.is_dir() and (folder.is_absolute() or source.startswith((".", "~")) or source.count("/") != 1):
        raise SetupError(
            f"there is no model folder {source}; name one, with config.json and *.safetensors in it, or a GGUF file"
        )
    try:
        with hide_progress_bars():
            where = str(folder) if folder.is_dir() else source
            if not download and not folder.is_dir():  # given a name, transformers would contact the hub
                where = snapshot_download(source, local_files_only=True)
            tokenizer = AutoTokenizer.from_pretrained(where, **options)
            model = AutoModelForCausalLM.from_pretrained(where, **options, **weights)
        if torch.device(device).type == "cpu" and model.dtype == torch.float16:
            model.to(torch.float32)  # type: ignore[arg-type]  # wrapped without types
        model.to(torch.device(device))  # type: ignore[arg-type]  # wrapped without types
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  # libraries raise errors of every kind for damaged files
        more = "" if folder.is_dir() or download else " (it is searched on this machine only: see download)"
        raise SetupError(f"the model {source} cannot be used{more}: {error_line(error)}") from None
    model.eval()  # type: ignore[no-untyped-call]
    return LocalModel(model, tokenizer, source)


def fingerprint(source: str | Path) -> str:
    """The SHA-256 of the model file ``source``, or of the model files in that folder; otherwise its name."""
    folder = model_path(source)
    if not folder.is_dir() and not folder.is_file():
        return str(source)
    files = [folder] if folder.is_file() else {path for pattern in _HASHED for path in folder.glob(pattern)}
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.name}\n{path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def common_beginning(texts: Sequence[list[int]]) -> list[int]:
    """The tokens that all ``texts`` begin with."""
    first, last = min(texts), max(texts)  # tokens that these two share, all share
    differ = (i for i, tokens in enumerate(zip(first, last, strict=False)) if tokens[0] != tokens[1])
    return first[: next(differ, len(first))]


@contextmanager
def hide_progress_bars() -> Iterator[None]:
    """Hide the progress bars of transformers, which would mix with ours."""
    from transformers.utils import logging

    enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if enabled:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
