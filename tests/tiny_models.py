"""Tiny causal models with random weights, of the architectures that people have on their disks, as folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from partners.llm.local.model import SMALL_MODEL, hide_progress_bars, model_path

SMALL: dict[str, dict[str, Any]] = {
    "llama": {"num_key_value_heads": 2},
    "gpt2": {},
    "gpt_neox": {},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 32},
    "bloom": {},  # no positions but distances
    "mistral": {"num_key_value_heads": 2, "sliding_window": 8},  # shorter than any prompt
    "qwen2": {"num_key_value_heads": 2},
    "gemma": {"num_key_value_heads": 1, "head_dim": 8},
    "phi": {},
    "falcon": {},
}
UNLIKE = ("llama", "gpt2", "bloom", "mistral")  # the least alike; slow tests take the others too
CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHAT
TEXT = (
    'You negotiate over books, hats and balls. {"act_type": 0, "oA": [1, 0, 2], "confidence": 0.5} PROPOSE points',
    '{"act_type": 1, "oA": [0, 0, 0], "confidence": 0.25}',
)


def tiny_tokenizer(chat: str | None = None, start: bool = False) -> PreTrainedTokenizerFast:
    """Byte-pair tokens of a few dozen merges; with ``start``, texts begin with a token of their own."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        TEXT,
        trainers.BpeTrainer(
            vocab_size=320, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
        ),
    )
    if start:
        made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = chat
    return tokenizer


def tiny_model(folder: Path, kind: str = "llama", *, chat: str | None = None, **changes: Any) -> Path:
    """A model of two layers, of the architecture ``kind``, in ``folder``, which is returned."""
    tokenizer = tiny_tokenizer(chat, start=kind in ("llama", "gemma"))
    sizes = {
        "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
        "max_position_embeddings": 4096, "vocab_size": len(tokenizer), "bos_token_id": 0, "eos_token_id": 1,
        "pad_token_id": None,
    }  # fmt: skip
    config = AutoConfig.for_model(kind, **{**sizes, **SMALL[kind], **changes})
    with torch.random.fork_rng(devices=[]), hide_progress_bars():
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config)
        for weight in model.parameters():  # as they come, all tokens are about as likely
            weight.data += torch.randn(weight.shape) * 0.15
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def small_model_tokenizer() -> Any:
    """The tokenizer of the shipped small model, made for the prompt ``full``."""
    return AutoTokenizer.from_pretrained(model_path(SMALL_MODEL), local_files_only=True)


def untrained_small_model(folder: Path) -> Path:
    """A model like the shipped small one with random weights, in ``folder``, which is returned."""
    config = AutoConfig.from_pretrained(model_path(SMALL_MODEL), local_files_only=True)
    config.n_embd, config.n_head, config.n_inner = 32, 2, 32
    with torch.random.fork_rng(devices=[]), hide_progress_bars(), torch.no_grad():
        torch.manual_seed(1)
        model = AutoModelForCausalLM.from_config(config)
        for weight in model.parameters():
            weight *= 8  # with the initial weights all replies are about equally likely
        model.save_pretrained(folder)
    small_model_tokenizer().save_pretrained(folder)
    return folder


def tiny_gguf(folder: Path, file: Path) -> Path:
    """The llama of :func:`tiny_model` in ``folder`` as the GGUF ``file``, written as llama.cpp would."""
    import gguf

    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    config, told = model.config, gguf.GGUFWriter(file, "llama")
    told.add_name("tiny")
    told.add_context_length(config.max_position_embeddings)
    told.add_embedding_length(config.hidden_size)
    told.add_block_count(config.num_hidden_layers)
    told.add_feed_forward_length(config.intermediate_size)
    told.add_head_count(config.num_attention_heads)
    told.add_head_count_kv(config.num_key_value_heads)
    told.add_layer_norm_rms_eps(config.rms_norm_eps)
    told.add_rope_freq_base(config.rope_parameters["rope_theta"])
    told.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    told.add_vocab_size(config.vocab_size)
    told.add_tokenizer_model("gpt2")
    told.add_token_list(tokenizer.convert_ids_to_tokens(range(config.vocab_size)))
    told.add_token_types([gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.NORMAL] * (config.vocab_size - 2))
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    told.add_token_merges([" ".join(merge) for merge in merges])
    told.add_bos_token_id(0)
    told.add_eos_token_id(1)
    if tokenizer.chat_template:
        told.add_chat_template(tokenizer.chat_template)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, weight in model.state_dict().items():
        numbers = weight.numpy()
        for part, number in heads.items():
            if part in name:  # the two halves of a head's rotation lie side by side in GGUF
                numbers = numbers.reshape(number, 2, -1, numbers.shape[1]).swapaxes(1, 2).reshape(numbers.shape)
        told.add_tensor(names.get_name(name, try_suffixes=(".weight",)), numbers.copy())
    told.write_header_to_file()
    told.write_kv_data_to_file()
    told.write_tensors_to_file()
    told.close()
    return file
