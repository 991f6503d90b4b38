"""Models in GGUF, the format of llama.cpp: made into an ordinary folder once, and kept in the user's cache.

The folder is named by the file's SHA-256, so a file that was moved or renamed is not converted again. It is made beside
its place and moved there when it is whole. Weights are unpacked to float32: four bytes a parameter on the disk; of an
unpacked model nothing is lost. Needs the packages ``gguf`` and ``accelerate``.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from importlib.util import find_spec
from pathlib import Path

from partners.llm.client import SetupError
from partners.llm.local.model_cache import CACHE, cache_folder
from partners.llm.local.packed import packed_place

_NEEDED = ("gguf", "accelerate")
_BLOCK = 1 << 20
_WHOLE = "config.json"  # moved there with the folder

_log = logging.getLogger("dond_marl.local_model")


def place_of(source: str | Path) -> Path:
    """The path that ``source`` is; of the name of an installed package that holds a GGUF file, the package's folder.

    Nothing of the package is run. Names of :mod:`partners.llm.local.packed` are where such a model is kept.
    """
    path, name = Path(source).expanduser(), str(source)
    if path.exists() or not name.isidentifier():
        return path
    packed = packed_place(name)
    if packed is not None:
        return packed
    try:
        found = find_spec(name)
    except ValueError:  # a module that came from nowhere, as __main__ does
        found = None
    places = map(Path, (found.submodule_search_locations if found else None) or ())
    return next((place for place in places if any(place.glob("*.gguf"))), path)


def find_gguf(source: Path) -> Path | None:
    """The GGUF file that ``source`` is, or the one in that folder, which holds no other model.

    Raises :class:`SetupError` where there are several.
    """
    if source.is_file():
        if source.suffix.lower() == ".gguf":
            return source
        raise SetupError(f"the model {source} is a file; name a folder, or a file that ends in .gguf")
    if not source.is_dir() or (source / "config.json").exists():
        return None
    files = sorted(source.glob("*.gguf"))
    if len(files) > 1:
        names = ", ".join(file.name for file in files[:5])
        raise SetupError(f"the folder {source} holds several models ({names}); name one of the files")
    return files[0] if files else None


def convert_gguf(file: Path) -> Path:
    """The folder with the model of ``file``, made if it is not there. Raises :class:`SetupError`."""
    folder = cache_folder() / "gguf" / _sha256(file)[:32]
    if (folder / _WHOLE).is_file():
        return folder
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        words = f"package{'s' if missing[1:] else ''} {' and '.join(missing)}"
        raise SetupError(f"to read {file.name}, install the {words}: pip install {' '.join(missing)}")
    from filelock import FileLock  # of an extra: who seats nobody of this kind does without

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_suffix(".lock")):
            if not (folder / _WHOLE).is_file():
                _convert(file, folder)
    except OSError as error:
        raise SetupError(
            f"the model {file.name} cannot be kept in {folder.parent} ({error.strerror or error}): "
            f"name another folder in ${CACHE}"
        ) from None
    return folder


def _convert(file: Path, folder: Path) -> None:
    """Write the model of ``file`` into ``folder``, whole or not at all."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    _log.warning("unpacking %s, once; it will be kept in %s", file.name, folder)
    beside = folder.with_suffix(".new")
    shutil.rmtree(beside, ignore_errors=True)  # left by a process that was stopped
    options = {"gguf_file": file.name, "local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(file.parent, **options)
        model = AutoModelForCausalLM.from_pretrained(
            file.parent, **options, dtype="float32", quantization_config=GgufConfig(dequantize=True)
        )
        model.save_pretrained(beside)
        tokenizer.save_pretrained(beside)
    except (MemoryError, OSError):
        shutil.rmtree(beside, ignore_errors=True)
        raise
    except Exception as error:  # noqa: BLE001  # what libraries say of damaged files is of every kind
        shutil.rmtree(beside, ignore_errors=True)
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise SetupError(f"the model {file} cannot be used: {reason}") from None
    shutil.rmtree(folder, ignore_errors=True)  # without its config: not ours to trust
    beside.replace(folder)


def _sha256(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise SetupError(f"the model {file} cannot be read: {error.strerror or error}") from None
