"""The site: built in strict mode from a copy, whole, and without requests to other servers."""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts.docs_site import build
from tests.documents.pages import PAGES, ROOT

pytestmark = pytest.mark.skipif(
    find_spec("zensical") is None, reason="no Zensical here: pip install -e '.[docs]' brings it"
)


@pytest.fixture
def copy(tmp_path, monkeypatch) -> Path:
    """A checkout of the pages and what they link to."""
    for name in ("docs", "leaderboard", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("zensical.toml", *build.TOP):
        shutil.copy(ROOT / name, tmp_path / name)
    for name, place in (("ROOT", tmp_path), ("STAGE", tmp_path / "build" / "docs"), ("SITE", tmp_path / "site")):
        monkeypatch.setattr(build, name, place)
    return tmp_path


@pytest.mark.slow
def test_the_site_is_built_with_every_link_whole(copy):
    assert build.main() == 0
    site = copy / "site"
    for page in PAGES:
        if page.name != "README.md":
            assert (site / f"{page.stem}.html").is_file(), page.name
    loaded, led = set(), set()
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded |= set(re.findall(r"<(?:script|img|source)[^>]*?src=[\"']?([^\"'\s>]+)", text))
        loaded |= set(re.findall(r"<link[^>]*?rel=[\"']?stylesheet[\"']?[^>]*?href=[\"']?([^\"'\s>]+)", text))
        loaded |= set(re.findall(r"<link[^>]*?href=[\"']?([^\"'\s>]+)[^>]*?rel=[\"']?stylesheet", text))
        found = re.findall(r"<a [^>]*?href=[\"']?([^\"'\s>#]+)", text) if page.name != "404.html" else []
        led |= {(page.parent / path).resolve() for path in found if not re.match(r"\w+:|/", path)}
    assert loaded and not [address for address in loaded if re.match(r"(https?:)?//", address)]
    assert len(led) > 20 and not [path for path in led if not path.exists()]


def test_a_link_out_of_the_pages_shows_the_file(copy):
    build.stage()
    shown = (build.STAGE / "source/scripts/examples/sb3_vector_ppo.py.md").read_text(encoding="utf-8")
    assert (ROOT / "scripts/examples/sb3_vector_ppo.py").read_text(encoding="utf-8").rstrip() in shown
    assert "(source/scripts/examples/sb3_vector_ppo.py.md)" in (build.STAGE / "PLUG_IN.md").read_text(encoding="utf-8")
