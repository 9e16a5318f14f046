"""The scripts and styles that the console and a dataset's report share."""

from pathlib import Path

FOLDER = Path(__file__).parent
