"""The schema of compose files, from the module that docker compose itself reads them with."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests import cache

MODULE = "github.com/compose-spec/compose-go/v2@v2.9.0"


def schema() -> dict[str, Any]:
    folder = cache.place("compose-schema", Path(__file__))
    assert (failure := cache.failure(folder, _fetch)) is None, failure
    told: dict[str, Any] = json.loads((folder / "compose-spec.json").read_text("utf-8"))
    return told


def _fetch(folder: Path) -> str | None:
    if shutil.which("go") is None:
        return "go is missing: install Go 1.26 or later, which fetches the schema"
    fetch = ["go", "mod", "download", "-json", MODULE]
    done = subprocess.run(fetch, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"go could not fetch {MODULE}: {(done.stderr or done.stdout).strip()[-500:]}"
    folder.mkdir()
    shutil.copyfile(Path(json.loads(done.stdout)["Dir"], "schema/compose-spec.json"), folder / "compose-spec.json")
    return None
