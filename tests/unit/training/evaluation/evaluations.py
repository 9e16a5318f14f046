"""Evaluations as `soliloquy evaluate` writes them."""

from pathlib import Path

from soliloquy_papers.soliloquy.evaluate.cases import TutorCase
from soliloquy_papers.soliloquy.evaluate.evaluation import figures, page
from soliloquy_papers.soliloquy.evaluate.judging import METRICS, JudgedCase
from soliloquy_training.evaluation.cases import DrawnCases
from soliloquy_training.evaluation.report import write_report


def written(folder: Path, name: str, cases: DrawnCases[TutorCase], found: list[JudgedCase]) -> Path:
    report = {
        "protocol": "soliloquy",
        "name": name,
        "cases": {"put": "3 questions of physics, seed 5", "sha256": cases.digest},
        "titles": METRICS,
        "whose": "",
        "paper": {},
        "figures": figures(found),
    }
    write_report(folder, report, found, page(report, found))
    return folder
