"""What all tests share: a home that is not the user's, processes that end with their test, the published data files."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# Nothing is written into the user's own home or cache, which may be read-only. It is set before any library is
# imported, and inherited by every process of a test.
CACHE = Path(tempfile.gettempdir()) / f"dond-marl-tests-{os.getuid()}"
os.environ["XDG_CACHE_HOME"] = str(CACHE)
os.environ.pop("DOND_MARL_CACHE", None)
os.environ["HOME"] = str(CACHE / "home")
(CACHE / "home").mkdir(parents=True, exist_ok=True)
# NumPy's threads wait by computing, which tests that run beside others pay for; PyTorch's are the project's to set.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What is compiled is kept in __pycache__, which git ignores, wherever that may be written: to compile the tests anew
# takes each worker as long as fifty of them, and the sources each process of a test.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile("any machine", deadline=None, max_examples=50)  # no example has a time to keep to
settings.load_profile("any machine")

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h: orphans of a test's processes become children of this one
STAYING = (b"multiprocessing.resource_tracker", b"multiprocessing.forkserver")  # this process's own, of no test
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Six thousand tests and their libraries stay to the end: to look for garbage among them takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _children() -> set[int]:
    """The processes that this one has started, and orphans of theirs; none are known elsewhere than on Linux."""
    found = set[int]()
    for path in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found.update(map(int, path.read_text().split()))
    return found


def _is_of_a_test(process: int) -> bool:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    return bool(words) and not any(word in words for word in STAYING)  # one that has ended has no words


@pytest.fixture(autouse=True)
def processes_end_with_their_test() -> Iterator[None]:
    """A test that fails, or that its limit stops, takes the processes that it started with it."""
    before = _children()
    yield
    while left := [process for process in _children() - before if _is_of_a_test(process)]:
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the published data files: ``DOND_DATA_DIR``, by default ``../shared/data`` beside the project."""
    folder = Path(os.environ.get("DOND_DATA_DIR") or ROOT / "../shared/data").resolve()
    if not (folder / "selfplay.txt").is_file():
        pytest.skip(f"no published data files in {folder}; name their folder in DOND_DATA_DIR")
    return folder
