"""The settings of the model of words: how it learns, how it speaks, and whom it meets."""

from __future__ import annotations

from pydantic import Field

from league.settings.sections import Occupant, PathText, Section


class LearningSection(Section):
    """How words are learned."""

    lr: float = Field(default=3.0e-3, gt=0, le=1)
    epochs: int = Field(default=10, ge=1, le=1000)
    patience: int = Field(default=2, ge=1, le=1000)
    minibatch: int = Field(default=64, ge=1, le=4096)
    dropout: float = Field(default=0.2, ge=0, lt=1)
    seeds: int = Field(default=3, ge=1, le=1000)


class SpeakingSection(Section):
    """How a sentence is drawn."""

    temperature: float = Field(default=0.5, gt=0, le=10, description="below 1: likelier words oftener")
    words: int = Field(default=24, ge=2, le=200, description="of a sentence, at most")
    attempts: int = Field(default=3, ge=1, le=100, description="sentences drawn until one is read as a legal act")
    sentences: int = Field(default=20, ge=2, le=100, description="of both sides, where two models talk in words")


class WordsConfig(Section):
    """All settings. The dialogues are read from ``data_dir`` and never shipped; nor are the weights."""

    learning: LearningSection = Field(default_factory=LearningSection)
    speaking: SpeakingSection = Field(default_factory=SpeakingSection)
    against: tuple[Occupant, ...] = Field(default=("heuristic",), strict=False, description="a list of occupants")
    scenarios: int = Field(default=392, ge=2, le=392)
    data_dir: PathText | None = Field(default=None, description="the folder of the published files (data)")
    output_dir: PathText = Field(default="runs/words", description="the path of a folder")
