"""What runs on a node of a cluster: a worker process under its supervisor, and the weights that were sent to it.

Nodes share no disk, so the content of each blob is sent once to each actor, which verifies it against its name.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

from league.backends.process import ProcessBackend
from league.backends.ray_joining import load_ray
from league.tasks.blobs import SUFFIX, BlobError, name_of, write_blob
from league.tasks.values import Place, Result, Task, machine

KEPT = 64  # blobs that are kept besides those of the task
PREFIX = "dond-marl-node-"  # of the folder with the blobs; the process's id follows


class NodeWorker:
    """An actor: it plays one task at a time. Ray holds the contents of blobs; ``Any`` is Ray's reference to one."""

    def __init__(self) -> None:
        _sweep(Path(tempfile.gettempdir()))
        self._backend = ProcessBackend(1)
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self._kept: OrderedDict[str, None] = OrderedDict()  # names of blobs, the longest unused first

    def machine(self) -> str:
        return machine()

    def play(self, task: Task, weights: dict[str, Any], deadline: float | None) -> Result:
        """The result of a task; ``weights``: Ray's reference to the content of each blob, by name."""
        self._fetch(weights)
        return next(self._backend.run([task], Place(self._folder), deadline=deadline))

    def leave(self) -> None:
        """End the worker process and delete the weights."""
        self._backend.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _fetch(self, weights: dict[str, Any]) -> None:
        for name, reference in weights.items():
            if name not in self._kept:
                content = load_ray().get(reference)
                if name_of(content) != name:
                    raise BlobError(f"weights {name} came to a node damaged: their content is not what their name says")
                write_blob(self._folder, content)
            self._kept[name] = None
            self._kept.move_to_end(name)
        while len(self._kept) > KEPT + len(weights):
            (self._folder / (self._kept.popitem(last=False)[0] + SUFFIX)).unlink()


def _sweep(folder: Path) -> None:
    for left in folder.glob(f"{PREFIX}*-*"):
        pid = left.name.removeprefix(PREFIX).partition("-")[0]
        with contextlib.suppress(ValueError, PermissionError):
            try:
                os.kill(int(pid), 0)
            except ProcessLookupError:
                shutil.rmtree(left, ignore_errors=True)
