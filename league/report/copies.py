"""What a reader takes out of a report: a table as LaTeX or CSV, a drawing as an SVG file that needs no style sheet."""

from __future__ import annotations

import csv
import io
import math
import re
from base64 import b64encode

from markupsafe import Markup

from league.standings.as_csv import inert
from league.tables.blocks import Cell, Figure, Table, common_n
from league.tables.figures import format_number

ESCAPED = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}  # fmt: skip
VARIABLE = re.compile(r"--([\w-]+):\s*([^;]+);")
KEY = re.compile(r'<i class="key hue(\d)"></i>(.*?)<b>')  # a line's name in the legend beside a drawing
BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
HUE = re.compile(r"\.hue(\d) \{ --hue: var\(--([\w-]+)\)")


def latex(table: Table) -> str:
    """The table as a LaTeX ``tabular`` for the package booktabs; intervals in brackets, what is unknown as a dash.

    One ``n`` of all figures is said in a comment above it; others are in the CSV.
    """
    common = common_n(table)
    heads = [table.label, *table.heads]
    if table.kind == "heat":  # as on the page: columns by rank
        heads = [table.label, *(str(rank) for rank in range(1, 1 + len(table.heads)))]
    lines = [
        f"% {' '.join(table.caption.split())}{'' if common is None else f', n = {common:,}'}",
        f"\\begin{{tabular}}{{l{'r' * len(table.heads)}}}",
        "\\toprule",
        _latex_row(heads),
        "\\midrule",
        *(_latex_row([row.label, *(_spelled(cell, table.kind == "heat") for cell in row.cells)]) for row in table.rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(cells: list[str]) -> str:
    row = " & ".join("".join(ESCAPED.get(letter, letter) for letter in " ".join(cell.split())) for cell in cells)
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"  # behind \\ these would be parameters of it


def _spelled(cell: Cell, brief: bool) -> str:
    if not isinstance(cell, Figure):
        return "--" if cell is None else cell
    mean, _, low, high = cell.estimate
    if not cell.known:
        return "--"
    ends = "" if math.isnan(low) or brief else f"[{format_number(low, cell.unit)}, {format_number(high, cell.unit)}]"
    return " ".join(filter(None, ("" if math.isnan(mean) else format_number(mean, cell.unit), ends)))


def as_csv(table: Table) -> str:
    """The table as CSV: of each figure the value, the ends of its interval and n; what is unknown is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = list(zip(*(row.cells for row in table.rows), strict=True)) or [()] * len(table.heads)
    figures = [any(isinstance(cell, Figure) for cell in column) for column in columns]
    heads = [
        part
        for head, several in zip(table.heads, figures, strict=True)
        for part in ((head, f"{head}, low", f"{head}, high", f"{head}, n") if several else (head,))
    ]
    writer.writerow(map(inert, (table.label, *heads)))
    for row in table.rows:
        cells = [part for cell, several in zip(row.cells, figures, strict=True) for part in _parts(cell, several)]
        writer.writerow(map(inert, (row.label, *cells)))
    return file.getvalue()


def _parts(cell: Cell, several: bool) -> list[str]:
    if not isinstance(cell, Figure):
        return [cell or "", *[""] * (3 * several)]
    mean, _, low, high = cell.estimate
    numbers = ["" if math.isnan(value) else f"{value:.6g}" for value in (mean, low, high)]
    return [*numbers, "" if cell.n is None or not cell.known else str(cell.n)]


def svg_link(drawn: Markup, style: str) -> str:
    """The address of the first drawing in some markup as a file of its own, in the light colours of ``style``.

    It is a ``data:`` address: a browser saves it without asking anybody, and without a script. Empty where nothing is
    drawn.
    """
    found = re.search(r"<svg.*?</svg>", str(drawn), flags=re.DOTALL)
    if found is None:
        return ""
    rules = "\n".join(line for line in plain_rules(style) if line.startswith((".chart", ".band", ".dot")))
    rules += "\n.chart text { font-family: Helvetica, Arial, sans-serif; }"
    head, body = found[0].removesuffix("</svg>").split(">", 1)
    names = KEY.findall(str(drawn))
    across, up = map(float, BOX.search(head).groups())  # type: ignore[union-attr]  # every drawing has one
    head = BOX.sub(f'viewBox="0 0 {across:g} {up + 18 * len(names):g}"', head)
    legend = "".join(
        f'<circle class="dot hue{hue}" cx="46" cy="{up + 18 * row + 4:g}" r="5"/>'
        f'<text class="tick" x="58" y="{up + 18 * row + 8:g}">{name}</text>'
        for row, (hue, name) in enumerate(names)
    )
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    alone = f'{head} xmlns="http://www.w3.org/2000/svg"><style>{rules}</style>{paper}{body}{legend}</svg>'
    return f"data:image/svg+xml;base64,{b64encode(alone.encode()).decode()}"


def plain_rules(style: str) -> list[str]:
    """The rules of a style sheet without what drawing programs do not know: variables and mixed colours."""
    light = dict(VARIABLE.findall(style[: style.index("}")]))
    hues = dict(HUE.findall(style))
    rules: list[str] = []
    for line in style.splitlines():
        if "var(--hue)" in line:
            for number, name in hues.items():
                heads, _, body = line.strip().partition(" {")
                own = ", ".join(f"{head.strip()}.hue{number}" for head in heads.split(","))
                rules.append(
                    f"{own} {{{body.replace('var(--hue)', f'var(--{name})')}".split(" } ")[0].rstrip(" }") + " }"
                )
        else:
            rules.append(line.strip())
    mixed = re.compile(r"color-mix\(in srgb, var\(--ink\) 32%, var\(--surface\)\)")
    return [
        re.sub(r"var\(--([\w-]+)\)", lambda name: light.get(name[1], "#000000"), mixed.sub("#b9b6b0", rule))
        for rule in rules
    ]
