"""Which backend plays a league, as the settings say it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from league.settings.sections import PathText, Section, wrong

BackendName = Literal["local", "process", "ray"]


class BackendConfig(Section):
    """Where tasks are played. It changes no result: only what a member that hangs may cost."""

    kind: BackendName | None = Field(
        default=None,
        description="local, process or ray, or left out: process where workers are set, ray where its address is",
    )
    workers: int | None = Field(
        default=None, ge=1, le=4096, description="an integer in 1..4096, or left out: one for every core"
    )
    # Seconds that a task may take before it is looked at for a member that hangs; "local" keeps none.
    deadline: float | None = Field(default=600.0, gt=0, le=1e6, description="a number above 0, seconds, or left out")
    ray_address: PathText | None = Field(default=None, description="HOST:PORT or auto, or left out")

    @model_validator(mode="after")
    def _of_one_mind(self) -> BackendConfig:
        if self.chosen != "ray" and self.ray_address is not None:
            raise wrong(f"the backend {self.chosen} takes no address; choose ray, or leave it out", "ray_address")
        if self.chosen == "local" and (self.workers or 1) > 1:
            raise wrong("the backend local plays in this process alone; choose process, or leave them out", "workers")
        return self

    @property
    def chosen(self) -> BackendName:
        """The backend, also where it is left out."""
        if self.kind is not None:
            return self.kind
        if self.ray_address is not None:
            return "ray"
        return "local" if (self.workers or 1) == 1 else "process"
