"""docs/SETTINGS.md: every key of the config files with its type, default and meaning, from their models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dond.study.settings import StudyConfig
from dond_marl.errors import RunFailure
from dond_marl.occupants import Spec
from league.settings.read import Config, describe_allowed
from league.settings.training import Hyperparameters, TrainConfig, TrainingConfig

# Meanings of keys whose models do not describe them: by key, or by class and key.
MEANINGS = {
    "algo": "the learning rule",
    "at_least": "what the lower bound of the points has to reach",
    "BackendConfig.kind": "where tasks are played",
    "clip": "how far PPO's probability ratio counts, as 1 - clip to 1 + clip",
    "ConditionConfig.partner": "the participant's opponent",
    "confidence": "confidence level of intervals and of a gate's or a stage's test",
    "csv": "write progress.csv",
    "data_dir": "folder of the published files; left out: data",
    "dataset": "which published file `use_dataset` means",
    "disagree": "whether DISAGREE ends the game or only refuses the offer",
    "ent": "weight of the entropy in the loss",
    "epochs": "passes over the collected decisions for each update",
    "gate": "condition that a snapshot has to meet; left out: snapshots are made by time only",
    "Gate.confidence": "confidence level of the test that it is better",
    "Gate.kind": "by points or by the share of games won",
    "Gate.win_rate": "where kind is win_rate: the share that the lower bound has to reach",
    "Config.gate": "opponents of a gate's matches; left out: members of the roster train, or all that never learn",
    "Config.heldout": "members that are played at the end only",
    "Config.members": "the members of the league",
    "grad_norm": "the gradient's norm is cut to this",
    "hidden": "widths of the hidden layers",
    "id": "the environment's name",
    "lam": "lambda of generalized advantages",
    "LeagueConfig.decay": "weight of earlier rounds where a learner has changed",
    "lr": "step size of the optimiser",
    "matchmaking": "shares of the rules by which opponents are drawn, such as {regret: 0.5, self_play: 0.5}",
    "max_count": "the most items of one type, where scenarios are uniform",
    "max_turns": "acts of both seats together",
    "MemberConfig.name": "its name; left out: its spec",
    "MemberConfig.spec": "the occupant",
    "meta_solver": "which mixture the meta-game is solved for",
    "mode": "the source of hints",
    "models": "the language model of each provider",
    "normalize": "keep only scenarios in which the whole pool is worth `points_budget` to both seats",
    "partner": "the occupant that the learner practices against",
    "points_budget": "value of the whole pool to each seat where `normalize` is set",
    "play": "the acts of the learner to which it responds; to sampled ones exactly in games of at most four turns",
    "privileged": "the hint provider also sees the partner's values",
    "provider": "provider of language models; auto: Groq with a key, else a model on this machine",
    "reveal_partner_utilities": "each seat sees the other's values",
    "reward": "reward of a finished game: own, svo(angle=45), my_file.py:FairBonus",
    "role": "role of the learner: own points, or to find the mains' weaknesses",
    "rounds": "how many are played",
    "scenarios": "source of the scenarios",
    "seed": "random seed: the same seed and settings give the same run",
    "split": "which part of the scenarios; left out: the source's own default",
    "StageConfig.rounds": "how many rounds the stage lasts at most; left out: to the end",
    "trackers": "experiment trackers that receive the figures too; see [Learn](LEARN.md#follow-a-run-elsewhere)",
    "until": "points of the first learner that end the stage before its rounds are over",
    "use_dataset": "take the scenarios from a published file",
    "vf": "weight of the value's error in the loss",
    "minibatch": "decisions in one step of the optimiser",
    "rollout": "least number of decisions of each game slot before an update",
    "num_envs": "games played in parallel",
    "gamma": "discount, per own decision",
    "max_requests": "most requests to a language model; null: no limit",
    "num_train_steps": "decisions in all",
    "threads": "threads of the arithmetic",
    "reset": "probability, after a snapshot, that the learner starts anew",
    "timeout": "rounds after which a snapshot is left anyway",
    "decisions": "decisions in a round",
    "magnet": "share by which the reference policy of kl moves towards the learner after each update; 0: fixed",
}
COMMANDS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("dond train", TrainConfig),
    ("dond league", Config),
    ("dond study", StudyConfig),
)
KINDS = {Spec: "text", str: "text", int: "a list of integers"}
HEADS = ("| key | takes | default | meaning |", "|---|---|---|---|")
HEAD = """# Settings

After this page you know every key of the config files with its type, default, range and meaning. It is generated from
the models that read them, by `python -m scripts.docs_site.pages`. A file under `configs/` holds only what differs from
the defaults; `--set section.key=value` sets one key. An unknown key, a wrong type and a value out of range are errors,
all reported together. Words: [Glossary](GLOSSARY.md).
"""


def settings_page() -> str:
    """The whole page; raises :class:`RunFailure` for a key without a meaning."""
    parts, described = [HEAD], dict[type[BaseModel], str]()
    for command, model in COMMANDS:
        parts.append(f"## `{command}`\n")
        repeated = []
        for prefix, section in _sections(model):
            title = f"`{prefix}`" if prefix else "Top of the file"
            if section in described:
                repeated.append(f"{title} as {described[section]}")
                continue
            described[section] = f"{title} of `{command}`"
            if table := _table(section):
                parts.append(f"### {title}\n\n{table}\n")
        if repeated:
            parts.append(f"Sections with keys as above: {'; '.join(repeated)}.\n")
    return "\n".join(parts)


def _sections(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """A model and the models nested in it, each with its path of keys."""
    yield prefix, model
    for name, field in model.model_fields.items():
        for inner in _models(field.annotation):
            yield from _sections(inner, f"{prefix}.{name}" if prefix else name)


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def _table(section: type[BaseModel]) -> str:
    """A row for every key but sections without a meaning; for a learner, keys that differ from ``dond train``'s."""
    shared = TrainingConfig.model_fields if issubclass(section, Hyperparameters) else {}
    rows = [*HEADS]
    for name, field in section.model_fields.items():
        if _default(field) == "as below" and not _meaning(section, name, field):
            continue  # a section, which has a table of its own
        if section is TrainingConfig or name not in shared or _default(field) != _default(shared[name]):
            meaning, takes = _meaning(section, name, field), _takes(field)
            kind = takes.replace(meaning, "", 1).rstrip(",:; ") if meaning else takes  # messages say both in one
            if kind in ("", ", or left out"):
                origins = {get_origin(part) for part in _flat(field.annotation)}
                kind = ("a mapping" if dict in origins else "a list" if tuple in origins else "text") + kind
            rows.append(f"| `{name}` | {kind} | {_default(field)} | {meaning} |")
    without = [f"`{name}`" for name in shared if name not in section.model_fields]
    if not shared or section is TrainingConfig:
        return "\n".join(rows) if len(rows) > len(HEADS) else ""
    words = f"All other keys are as in `training` of `dond train`; there is no {', '.join(without)}."
    return "\n".join([*rows, "", words] if len(rows) > len(HEADS) else [words])


def _takes(field: FieldInfo) -> str:
    if _models(field.annotation):
        return "a section, below" if field.annotation in _models(field.annotation) else "sections, below"
    text = describe_allowed(field)
    if text.startswith("a section of keys and values"):  # the type says more than the text of the error message
        kinds = _flat(field.annotation)
        kind = next((words for type_, words in KINDS.items() if type_ in kinds), "a mapping")
        text = kind if field.is_required() or field.default is not None else f"{kind}, or left out"
    return _cell(text)


def _flat(annotation: Any) -> list[Any]:
    """A type and the types within it, outermost first; those within a mapping are left out."""
    inside = () if get_origin(annotation) is dict else get_args(annotation)
    return [annotation, *(kind for part in inside for kind in _flat(part))]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "as below"
    if value in ({}, ()):
        return "none"
    if value is None:
        return "left out"
    text = str(value).lower() if isinstance(value, bool) else str(list(value) if isinstance(value, tuple) else value)
    return f"`{_cell(text)}`"


def _meaning(section: type[BaseModel], name: str, field: FieldInfo) -> str:
    meaning = MEANINGS.get(f"{section.__name__}.{name}") or MEANINGS.get(name)
    if not meaning and (field.description or _models(field.annotation)):
        return _cell(field.description or "")
    if not meaning:
        raise RunFailure(f"{section.__name__}.{name} has no meaning: describe the field, or add it to MEANINGS here")
    return _cell(meaning)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
