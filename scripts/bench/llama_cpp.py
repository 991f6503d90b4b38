"""Measure llama.cpp under a grammar of the legal lines: what the path beside ours takes, on the same prompts.

Needs xllamacpp, which is in no extra: pip install xllamacpp. `dond llm-check ... --free N` measures our own path.

  python scripts/bench/llama_cpp.py MODEL.gguf 24 docs/results/llama_cpp.json
"""

import json
import resource
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])  # the repository, not this folder

import xllamacpp

from league.evaluation.model_check import positions
from partners.llm.prompt import SYSTEM, load_template
from partners.llm.reply import Legal, LegalReply, legal_rows, read_reply

BEGUN = '{"act_type":'  # what all legal lines begin with is given, not written


def grammar(legal: Legal) -> str:
    """The rest of the legal lines, up to the confidence, in llama.cpp's GBNF."""
    keeps = ['("' + '" | "'.join(map(str, range(count + 1))) + '")' for count in legal.counts]
    offers = '" " ("0" | "1") ", \\"oA\\": [" ' + ' ", " '.join(keeps) + ' "]"'
    others = [f'" {act}, \\"oA\\": [0, 0, 0]"' for act in legal.acts if act > 1]
    return f"root ::= {' | '.join([offers, *others])}"


def chat(prompt: str) -> str:
    """The model's chat template (ChatML), up to where the line goes on."""
    user = f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"
    return f"<|im_start|>system\n{SYSTEM}<|im_end|>\n{user}{BEGUN}"


def main(file: str, number: int, results: Path) -> None:
    """Load, ask about one position after another, and write what it took."""
    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_parallel, settings.verbosity = file, 2048, 1, 0
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    began = time.process_time()
    server = xllamacpp.Server(settings)
    loaded, template, legal, asked = time.process_time(), load_template(shipped="brief"), 0, 0
    for turns in positions(number):
        (prompt,), (lines,) = template.render(turns), legal_rows(turns)
        body = {"prompt": chat(prompt), "grammar": grammar(lines), "n_predict": 48, "temperature": 0.0}
        said = server.handle_completions(body)["choices"][0]["text"]
        legal += isinstance(read_reply(f'{BEGUN}{said}, "confidence": 0.5}}', lines), LegalReply)
        asked += 1
    each = (time.process_time() - loaded) / asked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"prompt": "brief", "positions": asked, "legal": legal, "version": xllamacpp.__version__}
    found |= {"load_s": loaded - began, "alone_s": each, "memory_mb": peak}
    results.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(found)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
