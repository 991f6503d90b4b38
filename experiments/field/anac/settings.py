"""The settings: which negotiators, against whom of ours, on how many scenarios."""

from __future__ import annotations

from pydantic import Field, field_validator, model_validator

from dond_marl.errors import quote
from dond_marl.occupants import check_spec
from league.settings.sections import PathText, Section, wrong


class AnacConfig(Section):
    """All settings. The scenarios are a sample of the paper's test set, the same for everybody."""

    packages: tuple[str, ...] = Field(
        default=("negmas_genius_agents", "negmas_negolog", "anl_agents.anl2024"),
        strict=False,
        description="a list of packages",
    )
    agents: tuple[str, ...] = Field(default=(), strict=False, description="a list of dotted paths")
    leave_out: tuple[str, ...] = Field(default=(), strict=False, description="a list of dotted paths")
    ours: tuple[str, ...] = Field(strict=False, min_length=1, description="a list of occupants of ours")
    scenarios: int = Field(default=20, ge=2, le=392, description="of the 392 of lewis, split paper_test")
    block: int = Field(
        default=28, ge=1, le=392, description="scenarios; all play a block before anybody plays the next"
    )
    fewer: dict[str, int] = Field(default_factory=dict, description="a mapping from a dotted path to a number")
    max_turns: int = Field(default=10, ge=1, le=100)
    seed: int = Field(default=0, ge=0)
    limit: float = Field(default=2.0, gt=0, le=3600, description="seconds")
    output_dir: PathText = Field(default="runs/anac", description="the path of a folder")

    @field_validator("ours")
    @classmethod
    def _known(cls, ours: tuple[str, ...]) -> tuple[str, ...]:
        for spec in ours:
            check_spec(spec)
        return ours

    @model_validator(mode="after")
    def _of_the_sample(self) -> AnacConfig:
        for name, number in self.fewer.items():
            if not 2 <= number <= self.scenarios:
                raise wrong(f"{name}: a number in 2..{self.scenarios}; got {quote(number)}", "fewer")
        if not self.packages and not self.agents:
            raise wrong("name a package or an agent", "packages")
        return self
