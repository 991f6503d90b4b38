"""Size on disk of each extra in the table of docs/INSTALL.md: ``python -m scripts.docs_site.extras``.

An extra is measured where all that it brings is installed, by the files that the distributions list.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "INSTALL.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def distributions(requirements: Iterable[str]) -> set[str]:
    """The installed distributions that these bring, by canonical names; of ours, what the extra lists.

    Raises ``importlib.metadata.PackageNotFoundError`` for one that is not installed.
    """
    found: dict[str, set[str]] = {}  # with the extras that were followed
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name == PROJECT["name"]:
            extras = PROJECT["optional-dependencies"]
            waiting += [Requirement(each) for extra in requirement.extras for each in extras[extra]]
        elif requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            for extra in {"", *requirement.extras} - found.setdefault(name, set()):
                found[name].add(extra)
                for below in map(Requirement, metadata.requires(name) or []):
                    if below.marker is None or below.marker.evaluate({"extra": extra}):
                        below.marker = None
                        waiting.append(below)
    return set(found)


def megabytes(extra: str) -> str:
    """The size in MB of the package's dependencies with ``extra``; ``-`` where it is not installed."""
    try:
        names = distributions([*PROJECT["dependencies"], *([f"dond-marl[{extra}]"] if extra else [])])
    except metadata.PackageNotFoundError:
        return "-"
    files = (file.locate() for name in names for file in metadata.files(name) or [])
    return f"{sum(Path(str(file)).stat().st_size for file in files if Path(str(file)).is_file()) / 1e6:,.0f}"


def main() -> None:
    """Renew the column of sizes."""
    text = PAGE.read_text(encoding="utf-8")
    row = re.compile(r"^\| (none|`\[(\w+)\]`) \| [-\d,]+ \|", flags=re.MULTILINE)
    PAGE.write_text(row.sub(lambda found: f"| {found[1]} | {megabytes(found[2] or '')} |", text), encoding="utf-8")


if __name__ == "__main__":
    main()
