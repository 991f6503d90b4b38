"""The notebooks are their sources; and every one runs from top to bottom."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec

import pytest

from scripts.docs_site.notebooks import FOLDER, SOURCES, notebook, run_notebook
from tests.documents.pages import ROOT

NEEDED = {"language_model": ("transformers",), "your_trainer": ("sb3_contrib", "supersuit")}


def test_every_notebook_is_its_source_with_outputs():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == SOURCES.keys() and len(SOURCES) == 5
    for name, path in SOURCES.items():
        text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
        assert text == notebook(path.read_text(encoding="utf-8"), text), "run python -m scripts.docs_site.notebooks"
        cells = json.loads(text)["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert len(code) >= 5 and sum(bool(cell["outputs"]) for cell in code) >= 3, f"run {name} with --run"
        assert not re.search(r"/(tmp|home|root|work|Users)/", text) and len(text) < 150_000
        assert cells[0]["source"][0].startswith("# ") and len({cell["id"] for cell in cells}) == len(cells)


def test_outputs_stay_with_the_code_that_made_them():
    source = "# %%\n1 + 1\n# %%\n2 + 2\n"
    document = json.loads(notebook(source))
    for cell in document["cells"]:
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["4\n"]}]
    cells = json.loads(notebook(source.replace("1 + 1", "1 + 3"), json.dumps(document)))["cells"]
    assert [bool(cell["outputs"]) for cell in cells] == [False, True]


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
    cells = json.loads(run_notebook(name, tmp_path))["cells"]
    shown = [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]
    assert len(shown) >= 3 and len(json.dumps(shown)) < 400_000
