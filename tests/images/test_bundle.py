"""Checks the bundle for machines without a network: it is installed in a namespace that has none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.release import bundle, chart, readiness
from deploy.release.__main__ import python
from tests.chart import tools
from tests.images import built, registry

pytestmark = pytest.mark.timeout(3600)
OFFLINE = ("unshare", "--net", sys.executable, "-m", "tests.images.offline")


@pytest.fixture(scope="module")
def packed(digests: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    version = readiness.version()
    pinned = {
        "global": {"imageRegistry": registry.HOST},
        "images": {name: {"digest": digest} for name, digest in digests.items()},
    }
    python(folder)
    chart.pack(pinned, folder / f"soliloquy-{version}.tgz")
    return bundle.pack(pinned, version, folder)


def test_a_bundle_installs_images_chart_and_command_line_without_a_network(
    packed: Path, digests: dict[str, str], tmp_path: Path
) -> None:
    tools.folder()
    done = subprocess.run([*OFFLINE, packed, tmp_path], cwd=built.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["images"] == told["served"]
    assert told["images"] == sorted(f"{registry.HOST}/soliloquy/{name}@{digest}" for name, digest in digests.items())
    assert told["version"] == readiness.version()


def test_a_bundle_that_was_changed_on_its_way_is_not_installed(packed: Path, tmp_path: Path) -> None:
    subprocess.run(["tar", "--extract", f"--file={packed}", f"--directory={tmp_path}"], check=True)
    [unpacked] = tmp_path.iterdir()
    (unpacked / "images.txt").write_text("other\n", "utf-8")
    done = subprocess.run(["sh", unpacked / "install.sh", registry.HOST], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "images.txt: FAILED" in done.stdout + done.stderr
