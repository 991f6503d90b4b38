"""How people bargain: the human line from the published dialogues, and how well the annotator reads their words.

examples:
  python scripts/humans.py                                     # the figures kept in the package; needs no data
  python scripts/humans.py --data-dir data                     # computed again from the files
  python scripts/humans.py --data-dir data --store             # and keep the human line in the package
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LABELS = ROOT / "dond_marl" / "dialogues" / "hand_labels.csv"
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from dond_marl.dialogues.human_line import as_lines, human_line, store, stored_human_line, to_json
    from dond_marl.dialogues.scores import LabelError, annotator_report
    from dond_marl.scenarios.data import DIALOGUE_SPLITS, DataError
    from league.cli.help_text import parser_of
except ModuleNotFoundError as missing:
    sys.exit(
        f"{missing.name} is not installed for {sys.executable}: run `make setup`, then .venv/bin/python {__file__}"
    )


def main() -> int:
    """Exit code 0, or 1 if a file cannot be read or written."""
    parser = parser_of(__doc__)
    parser.add_argument("--data-dir", help="folder of the published files (default: show the figures of the package)")
    parser.add_argument("--split", choices=DIALOGUE_SPLITS, action="append", help="annotate only this; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to a file")
    parser.add_argument("--store", action="store_true", help="keep the human line in the package")
    options = parser.parse_args()
    if options.data_dir is None and (options.split or options.store):
        parser.error("--split and --store need the published files: name their folder with --data-dir")
    try:
        line = stored_human_line() if options.data_dir is None else human_line(options.data_dir)
        print(*as_lines(line), sep="\n", flush=True)
        document = {"human_line": to_json(line)}
        if options.data_dir is not None:
            report = annotator_report(options.split or DIALOGUE_SPLITS, LABELS, options.data_dir)
            print(*report.lines, sep="\n")
            document["annotator"] = report.figures
        if options.store:
            store(line)
        if options.json:
            options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    except (DataError, LabelError, OSError, KeyboardInterrupt) as error:
        print(str(error) or "stopped", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
