"""What is taken out of a report: LaTeX and CSV of a table, a drawing as a file that needs no style sheet."""

from __future__ import annotations

import csv
import io
import math
import re
from base64 import b64decode
from xml.etree import ElementTree

import pytest

from dond_marl.statistics import Estimate
from league.display.svg.curves import curve_chart
from league.display.svg.markup import Markup
from league.report.copies import as_csv, latex, plain_rules, svg_link
from league.report.html import page, style
from league.standings.curves import CurvePoint
from league.tables.blocks import Curves, Figure, Report, Section, Table, TableRow, number_cell
from tests.league.web.browser import browsing, missing

SURE, UNSURE = Figure(Estimate(6.54321, 640, 6.1, 6.9)), number_cell(0.5, "share", 12)
TABLE = Table(
    "100% of it_all",
    ("points of ten", "deals", "why"),
    (TableRow("a_b & c", (SURE, UNSURE, "C:\\x~{1}^2#$")), TableRow("=1+1", (number_cell(math.nan), None, None))),
)
POINTS = [
    CurvePoint(rounds, member, 1000 * rounds, Estimate(2.0 + rounds, 128, 1.5 + rounds, 2.5 + rounds))
    for member in ("main", "<b>exploiter</b>")
    for rounds in range(3)
]


def test_a_table_is_a_tabular_whose_every_special_letter_is_escaped():
    lines = latex(TABLE).splitlines()
    assert lines[0] == "% 100% of it_all"
    assert lines[1:3] == ["\\begin{tabular}{lrrr}", "\\toprule"]
    assert lines[5] == (
        r"a\_b \& c & 6.54 [6.10, 6.90] & 50.0\% & "
        r"C:\textbackslash{}x\textasciitilde{}\{1\}\textasciicircum{}2\#\$ \\"
    )
    assert lines[6] == r"=1+1 & -- & -- & -- \\"
    odd = TABLE._replace(rows=(TableRow("[<a|b>]", (None, None, None)),))
    assert latex(odd).splitlines()[5] == r"{}[\textless{}a\textbar{}b\textgreater{}] & -- & -- & -- \\"


def test_an_n_that_all_figures_share_is_said_once():
    common = TABLE._replace(rows=(TableRow("a", (SURE, SURE, None)), TableRow("b", (SURE, SURE, None))))
    assert latex(common).count("640") == 1 and latex(common).startswith("% 100% of it_all, n = 640\n")
    told = page(Report("t", "t", 0.95, (Section("s", "S", (), (TABLE,)),)))
    assert "(n = 12 to 640;" in told
    shown = told[told.index("<tbody>") : told.index("</tbody>")]
    assert "n 640" not in re.sub(r' title="[^"]*"', "", shown) and 'title="n 640"' in shown


def test_a_csv_holds_value_ends_and_n_and_no_formula():
    rows = list(csv.reader(io.StringIO(as_csv(TABLE))))
    assert rows[0][:6] == [
        "member",
        "points of ten",
        "points of ten, low",
        "points of ten, high",
        "points of ten, n",
        "deals",
    ]
    assert rows[1][:5] == ["a_b & c", "6.54321", "6.1", "6.9", "640"]
    assert rows[2][0] == "'=1+1" and not any(rows[2][1:])
    assert list(csv.reader(io.StringIO(as_csv(TABLE._replace(rows=()))))) == [["member", *TABLE.heads]]


def saved(address):
    """The drawing that a link holds."""
    assert address.startswith("data:image/svg+xml;base64,")
    return b64decode(address.partition(",")[2]).decode()


def test_a_saved_drawing_stands_alone_with_its_legend_and_no_variable():
    drawing = saved(svg_link(curve_chart(POINTS, "heuristic", 0.95), style()))
    root = ElementTree.fromstring(drawing)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in drawing and "color-mix" not in drawing and 'class="line hue1"' in drawing
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"main", "<b>exploiter</b>", "own decisions", "points of ten"} <= set(texts)
    assert any(rule.startswith(".chart .line.hue1 {") and "#a3461b" in rule for rule in plain_rules(style()))
    assert svg_link(Markup("<p>Nobody</p>"), style()) == ""


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_figure_is_saved_and_a_table_selected_in_a_page_that_runs_no_script(tmp_path):
    blocks = (TABLE, Curves(tuple(POINTS), "heuristic", 0.95))
    (tmp_path / "report.html").write_text(page(Report("t", "t", 0.95, (Section("s", "S", (), blocks),))))
    with browsing() as browser:
        window = browser.new_context(accept_downloads=True).new_page()
        window.goto((tmp_path / "report.html").as_uri())
        window.get_by_text("Copy as LaTeX or CSV").click()
        window.get_by_label("LaTeX of 100% of it_all").click()
        assert window.evaluate("getSelection().toString()").strip() == latex(TABLE).strip()
        with window.expect_download() as download:
            window.get_by_text("Save as SVG").click()
        assert download.value.suggested_filename == "learning_curves.svg"
        ElementTree.parse(download.value.path())
