"""The settings of a hint experiment."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator, model_validator

from league.settings.sections import EnvConfig, Occupant, PathText, Section, wrong
from league.settings.training import HintsConfig, TrainingConfig

# Hinters by a word; all others are occupants.
NOBODY, CHANCE, MODEL, STUDENT = "none", "random", "llm", "student"
WORDS = (NOBODY, CHANCE, MODEL, STUDENT)
PRETRAINED = "smollm2"  # the model of MODEL where the settings name none: it did not see our expert's answers
ASKED = {"prompt": "brief", "dtype": "bfloat16", "sorted_items": True}  # how it is asked, unless the options say


def _word_or(value: object, occupant: ValidatorFunctionWrapHandler) -> object:
    return value if value in WORDS else occupant(value)


Who = Annotated[Occupant, WrapValidator(_word_or)]


class ExperimentSection(Section):
    """Which hinters are compared, how often learners are measured, and the shares whose cost is reported.

    A hinter is ``none``, ``random`` (any legal act), ``llm`` (a language model that was not made here: the one of
    ``hints``, by default SmolLM2 on this machine), ``student`` (the project's own small model, which was taught by the
    expert) or an occupant, which whispers what it would do.
    """

    hinters: tuple[Who, ...] = Field(
        default=("none", "random", "expert"),
        strict=False,
        description="a list of none, random, llm, student and occupants",
    )
    dropouts: tuple[float, ...] = Field(
        default=(0.0, 0.5),
        strict=False,
        description="a list of numbers in 0..1: shares of hints withheld while learning",
    )
    seeds: int = Field(default=10, ge=1, le=1000)
    every: int = Field(default=5_000, ge=1, description="own decisions between measurements")
    shares: tuple[float, ...] = Field(
        default=(0.7, 0.8, 0.9), strict=False, description="a list of numbers in 0..1, of the exact best response"
    )

    @model_validator(mode="after")
    def _in_range(self) -> ExperimentSection:
        for key in ("dropouts", "shares"):
            if not all(0 <= number <= 1 for number in getattr(self, key)) or not getattr(self, key):
                raise wrong(f"{key} must be a list of numbers in 0..1", key)
        if not self.hinters or len(set(self.hinters)) < len(self.hinters):
            raise wrong("hinters must be a list of hinters, each once", "hinters")
        return self


class ExperimentConfig(Section):
    """All settings of a hint experiment; who hints and ``hints.dropout`` are what it varies."""

    env: EnvConfig = Field(default_factory=EnvConfig)
    hints: HintsConfig = Field(default_factory=HintsConfig)
    training: TrainingConfig = Field(default_factory=TrainingConfig)
    experiment: ExperimentSection = Field(default_factory=ExperimentSection)
    output_dir: PathText = Field(default="runs/hints", description="the path of a folder")
