"""Collects the pages of the documentation's site into a folder: `python -m deploy.site FOLDER`."""

import shutil
import sys
from pathlib import Path

from deploy.site.commands import commands_page, run_file_page
from deploy.site.contract import api_page, rows_page, topics_page
from deploy.site.notebooks import JUPYTER, NOTEBOOKS, TRAINING, convert
from deploy.site.pages import ROOT, collect

_FIRST = (ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md"))
_REFERENCE = {
    "commands": commands_page,
    "run-file": run_file_page,
    "api": api_page,
    "rows": rows_page,
    "topics": topics_page,
}


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    collect(_FIRST, out)
    for name, page in _REFERENCE.items():
        file = out / "reference" / f"{name}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(page(), "utf-8")
    for notebook in NOTEBOOKS:
        convert(notebook, out / notebook.parent.relative_to(ROOT), execute=notebook != TRAINING)
    for asset in (Path(__file__).with_name("site.css"), JUPYTER / "mermaid.min.js"):
        shutil.copy(asset, out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
