"""The notebooks are their sources; and every one runs from top to bottom."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec

import pytest

from scripts.docs_site.notebooks import FOLDER, SOURCES, notebook, run_notebook
from tests.documents.pages import ROOT

NEEDED = {"language_model": ("transformers",), "your_trainer": ("sb3_contrib", "supersuit")}


def test_every_notebook_is_its_source_without_outputs():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == SOURCES.keys() and len(SOURCES) == 5
    for name, path in SOURCES.items():
        text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
        assert text == notebook(path.read_text(encoding="utf-8")), "run python -m scripts.docs_site.notebooks"
        cells = json.loads(text)["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert len(code) >= 5 and all(cell["outputs"] == [] for cell in code)
        assert cells[0]["source"][0].startswith("# ") and len({cell["id"] for cell in cells}) == len(cells)


def test_the_page_names_every_notebook_and_no_other():
    page = (ROOT / "docs" / "TUTORIAL.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| \[`(\w+)\.ipynb`\]", page, re.MULTILINE)) == SOURCES.keys()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the client of the kernel
@pytest.mark.parametrize("name", SOURCES)
def test_a_notebook_runs_from_top_to_bottom(name, tmp_path, monkeypatch):
    for library in ("nbclient", "ipykernel", *NEEDED.get(name, ())):
        if find_spec(library) is None:
            pytest.skip(f"{name} needs {library}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    done = run_notebook(name, tmp_path)
    shown = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    assert len(shown) >= 4 and len(json.dumps(shown)) < 400_000
