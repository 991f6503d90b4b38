"""Trust: whether names in files made by another person may run code, start programs, query servers or use keys.

Run folders, checkpoints, results and recorded games name occupants, rewards and settings. Most names are harmless
(``boulware(exponent=4)``). A *hazard* is a part of a name that reaches outside the project: code in a file, a program,
the address of a server, the environment variable of a key, or any other free text. The rule, after Jupyter's trust in
notebooks:

- While a document's names are used (:func:`names_of`), every hazard is refused, seen before or not, unless the document
  is trusted or the user typed it. :func:`refuse_hazards`, which every look-up of a name calls, stops it before anything
  is run, started or read.
- Elsewhere names are the user's own (their config, their Python code); but the hazards of opened documents that are not
  trusted (:func:`admit`) are refused there too: names of members are looked up after the document was read.
- A document is trusted if a secret key of this user signed it (:func:`sign`: runs that were started here), if the user
  trusted it before (:func:`trust_document`: by its digest), or if the user trusts all that this process opens
  (:func:`trust_everything`: the option ``--trust``).
- Names that the user typed are allowed (:func:`allow_typed_names`); so is what a visitor of the web page chose, for
  that request alone (:func:`own_choice`).

::

    settings and specs of a run ── hazards_in ──> {Hazard, ...}
                    │                                  │
         digest_of  │                                  │ not signed, not trusted, not typed
                    v                                  v
      signature, trusted.json <── admit ──────> refused in this process <── refuse_hazards ── look-up of a spec
                                    │                                            │
                                    └── Document ── names_of ── in use ──────────┘ everything not typed

Key and trusted digests are stored in one folder of the user: ``$DOND_MARL_HOME``, otherwise ``$XDG_CONFIG_HOME`` or
``~/.config``, with ``dond-marl``.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

from dond_marl.errors import InputError, UntrustedError
from dond_marl.files import atomic_replace, read_bytes, user_folder, user_path
from dond_marl.occupants import GUARDS, OccupantNameError, is_plain_name, names_file, parse_spec

# Parameters and settings whose value is a hazard whatever it is, with what happens when it is used.
HAZARDOUS = {
    "address": "contacts the server",
    "agent": "runs the agent",
    "base_url": "contacts the server",
    "cache": "writes to",
    "interface": "runs the code",
    "key_env": "sends the key in",
    "prompt_path": "opens",
    "python": "starts the program",
    "ray_address": "contacts the server",
}
KEY_EFFECTS = (HAZARDOUS["key_env"], "sends Groq's key to")
RUNS_FILE, OPENS, QUERIES = "runs the code", "passes on", "queries a language model of the provider"
RUNNING_EFFECTS = (RUNS_FILE, HAZARDOUS["python"], HAZARDOUS["agent"])
HARMLESS = ("name", "path", "sha256")  # names, digests, and paths of checkpoints, which are data
QUERYING = ("llm", "llm_judge")  # kinds that query a language model, of a service unless they say otherwise
MOST_CODE = 1 << 28  # bytes of a program
MAX_NESTING = 20  # lists and mappings in each other


class Hazard(NamedTuple):
    """A part of a name that reaches outside the project: ``effect`` of using it, and the ``target``, as written."""

    effect: str
    target: str

    def __str__(self) -> str:
        return f"{self.effect} {self.target!a}"  # whole, and nothing in it moves the cursor


class Document(NamedTuple):
    """An opened document. Its ``hazards`` that the user did not type are trusted together or not at all."""

    place: str
    digest: str
    hazards: frozenset[Hazard]
    trusted: bool


_REFUSED: dict[Hazard, Document] = {}  # of this process
_TYPED: list[str] = []  # the words of the command line
_EVERYTHING: list[bool] = []  # not empty: the user trusts all that this process opens
_OWN = Document("", "", frozenset(), trusted=True)
_IN_USE: ContextVar[Document | None] = ContextVar("document in use", default=None)


def hazards_of(kind: str, parameters: Mapping[str, object]) -> Iterator[Hazard]:
    """The hazards of one name and of the names in its parameters."""
    if names_file(kind):
        yield Hazard(RUNS_FILE, kind)
    for name, value in parameters.items():
        yield from _of_value(name, value, strict=True)
    if kind in QUERYING:
        yield from _queries(parameters.get("provider"), parameters)


def _queries(provider: object, options: Mapping[str, object]) -> Iterator[Hazard]:
    """The hazards of querying a language model; without ``key_env`` its server gets Groq's key."""
    yield Hazard(QUERIES, str(provider or "auto"))
    if options.get("base_url") is not None and options.get("key_env") is None and provider not in ("openai", "hf"):
        yield Hazard(KEY_EFFECTS[1], str(options["base_url"]))


def hazards_in(data: object) -> frozenset[Hazard]:
    """The hazards in parsed JSON or YAML: specs anywhere in it, and settings named in :data:`HAZARDOUS`."""
    return frozenset(_of_value("", data, strict=False))


def _of_value(name: str, value: object, *, strict: bool, depth: int = 0) -> Iterator[Hazard]:
    """The hazards of a value called ``name``.

    ``strict``: a parameter of an occupant, in which free text is a hazard too; otherwise a setting, where text that is
    no spec (a folder for output, a description) is not passed to an occupant.
    """
    if depth > MAX_NESTING:
        yield Hazard(OPENS, f"values nested more than {MAX_NESTING} deep")
    elif name in HAZARDOUS and value is not None:
        yield Hazard(HAZARDOUS[name], str(value))
    elif isinstance(value, Mapping):
        if value.get("mode") == "llm":  # of hints
            options = value.get("options")
            yield from _queries(value.get("provider"), options if isinstance(options, Mapping) else {})
        if isinstance(value.get("kind"), str):
            try:
                yield from hazards_of(*parse_spec(value))
            except OccupantNameError:  # no look-up accepts it either
                yield Hazard(OPENS, str(value["kind"]))
        else:
            for key, each in value.items():
                yield from _of_value("", key, strict=strict, depth=depth + 1)
                yield from _of_value(str(key), each, strict=strict, depth=depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _of_value("", each, strict=strict, depth=depth + 1)
    elif isinstance(value, str) and name not in HARMLESS and not (is_plain_name(value) and value not in QUERYING):
        try:
            kind, parameters = parse_spec(value, str)  # rewards may have an unnamed first parameter
        except OccupantNameError:
            if strict or _is_call(value):
                yield Hazard(OPENS, value)
        else:
            yield from hazards_of(kind, parameters)


def _is_call(text: str) -> bool:
    """Whether a text looks like ``name(...)``."""
    kind, opened, _ = text.strip().partition("(")
    return bool(opened) and text.strip().endswith(")") and (kind.isidentifier() or names_file(kind))


def admit(place: str, document: str, hazards: Iterable[Hazard], signature: str | None = None) -> Document:
    """Decide whether an opened document is trusted; if not, its hazards are refused from now on in this process.

    ``place``: the file, for messages. ``document``: the text that decides what is named, such as settings and specs.
    ``signature``: what :func:`sign` returned for it when it was written, if anything. A document without hazards needs
    no trust, and has none: hazards that were not found in it are refused as well while its names are used.
    """
    found = frozenset(hazards)
    found -= _typed_hazards() if found else found  # parsed only where it matters
    digest = digest_of(document)
    trusted = _is_signed(digest, signature) or _is_trusted(digest, found)
    opened = Document(place, digest, found, trusted)
    refuse(opened, found)
    return opened


def refuse(document: Document, hazards: Iterable[Hazard]) -> None:
    """Refuse hazards of a document, unless it is trusted, from now on in this process."""
    if not (document.trusted or _EVERYTHING):
        for hazard in hazards:
            _REFUSED.setdefault(hazard, document)


@contextmanager
def names_of(document: Document) -> Iterator[None]:
    """Use the names of ``document``: every hazard that the user did not type is refused in it, unless it is trusted."""
    before = _IN_USE.set(document)
    try:
        yield
    finally:
        _IN_USE.reset(before)


def own_choice() -> AbstractContextManager[None]:
    """Use a name that the user chose in another way than on the command line: nothing is refused."""
    return names_of(_OWN)


def refuse_hazards(kind: str, parameters: Mapping[str, object]) -> UntrustedError | None:
    """The error for a name that may not be used here; ``None`` if it may."""
    document = _IN_USE.get()
    if _EVERYTHING or (document.trusted if document is not None else not _REFUSED):
        return None
    found = frozenset(hazards_of(kind, parameters))
    if document is None:
        found &= _REFUSED.keys()
    found -= _typed_hazards() if found else found
    if not found:
        return None
    return _error(_REFUSED[min(found)] if document is None else document, found)


def _error(document: Document, hazards: frozenset[Hazard]) -> UntrustedError:
    return UntrustedError(document.place, document.digest, tuple(map(str, sorted(document.hazards | hazards))))


def require_trust(place: str, document: str, hazards: Iterable[Hazard], signature: str | None = None) -> Document:
    """Raise :class:`~dond_marl.errors.UntrustedError` if a document is not trusted, for work that needs its names."""
    opened = admit(place, document, hazards, signature)
    if opened.hazards and not (opened.trusted or _EVERYTHING):
        raise _error(opened, opened.hazards)
    return opened


def allow_typed_names(words: Iterable[str]) -> None:
    """Allow the names in the ``words`` of a command line, as ``NAME`` or ``KEY=NAME``, in files too.

    What is a path is not a name, nor is a member of a run: another person may have chosen them.
    """
    typed = list(words)
    of_run = any(word.partition("=")[0] == "--run" for word in typed)
    for before, word in zip(["", *typed], typed, strict=False):
        if not (of_run and (before == "--member" or word.startswith("--member="))):
            _TYPED.extend(text for text in (word, word.partition("=")[2]) if text and not _is_path(text))


def _is_path(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a path, or with a null character
        return False


def _typed_hazards() -> frozenset[Hazard]:
    """The hazards that the user typed, but for a bare ``llm``: that may be the name of a member of a document."""
    return frozenset(each for each in hazards_in(_TYPED) if each.effect != QUERIES)


def trust_everything() -> None:
    """Trust all documents that this process has opened or will open."""
    _EVERYTHING.append(True)
    _REFUSED.clear()


def trust_document(error: UntrustedError) -> None:
    """Trust the document of an error, with its code as it is, now and in later processes of this user.

    Raises ``OSError``.
    """
    refused = [hazard for hazard, origin in _REFUSED.items() if origin.digest == error.digest]
    for hazard in refused:
        del _REFUSED[hazard]
    folder = user_folder("config")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    trusted = _read_trusted()
    trusted[error.digest] = {
        "file": error.place,
        "uses": list(error.hazards),
        "code": _digests_of_code(refused),
        "trusted": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    with atomic_replace(folder / "trusted.json") as temporary:
        temporary.write_text(json.dumps(trusted, indent=1), encoding="utf-8")


def _is_trusted(digest: str, hazards: Iterable[Hazard]) -> bool:
    """Whether the user trusted the document with this digest, and the code that it names is what it was then."""
    entry = _read_trusted().get(digest)
    if not isinstance(entry, dict):
        return False
    code = entry.get("code")
    return isinstance(code, dict) and all(code.get(k) == v for k, v in _digests_of_code(hazards).items())


def _digests_of_code(hazards: Iterable[Hazard]) -> dict[str, str]:
    """SHA-256 of each file of code and program that hazards name, by name; empty where there is none."""
    digests = {}
    for effect, name in sorted(hazards):
        if effect in (RUNS_FILE, HAZARDOUS["python"]):
            path = name.rpartition(":")[0] if effect == RUNS_FILE else name
            try:
                digests[name] = hashlib.sha256(read_bytes(user_path(path), MOST_CODE)).hexdigest()
            except (OSError, InputError):
                digests[name] = ""
    return digests


def sign(document: str) -> str | None:
    """The signature of a document written by this user, 64 hexadecimal digits; ``None`` where no key can be stored."""
    key = _key(make=True)
    return None if key is None else _signature(key, digest_of(document))


def digest_of(document: str) -> str:
    """SHA-256 of a document, 64 hexadecimal digits."""
    return hashlib.sha256(document.encode()).hexdigest()


def _is_signed(digest: str, signature: str | None) -> bool:
    key = _key(make=False) if signature else None
    return key is not None and hmac.compare_digest(_signature(key, digest), str(signature))


def _signature(key: bytes, digest: str) -> str:
    return hmac.new(key, digest.encode(), hashlib.sha256).hexdigest()


def _key(*, make: bool) -> bytes | None:
    """The user's secret key, made on first use (``make``); ``None`` without one, or where none can be stored."""
    try:
        path = user_folder("config") / "key"
        if make and not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # O_EXCL: of two processes that start at once, one writes the key and the other reads it.
            with (
                suppress(FileExistsError),
                os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
            ):
                file.write(secrets.token_bytes(32))
        key = path.read_bytes()
    except (OSError, InputError):  # the folder cannot be written, or there is no home folder
        return None
    return key if len(key) == 32 else None


def _read_trusted() -> dict[str, object]:
    try:
        trusted = json.loads((user_folder("config") / "trusted.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return trusted if isinstance(trusted, dict) else {}


GUARDS.append(refuse_hazards)
