"""Installs a bundle in a network namespace without any network: offline.py BUNDLE FOLDER."""

import json
import socket
import subprocess
import sys
from pathlib import Path

from tests.chart.render import helm
from tests.images import registry


def main(bundle: Path, folder: Path) -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    assert [name for _, name in socket.if_nameindex()] == ["lo"]
    subprocess.run(["tar", "--extract", f"--file={bundle}", f"--directory={folder}"], check=True)
    [unpacked] = folder.glob("soliloquy-*")
    with registry.serving(folder / "registry") as host:
        subprocess.run(["sh", str(unpacked / "install.sh"), host], stdout=subprocess.DEVNULL, check=True)
        [chart] = unpacked.glob("*.tgz")
        settings = [f"--set=global.imageRegistry={host}", "--set=kafka.bootstrap=kafka:9092"]
        images = _images(helm("helm4", "template", "lab", str(chart), *settings))
        served = {image for image in images if registry.manifest(*image.removeprefix(f"{host}/").split("@"))}
    environment = folder / "command-line"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    install = [str(environment / "bin/pip"), "install", "--quiet", "--no-index", f"--find-links={unpacked / 'wheels'}"]
    subprocess.run([*install, "soliloquy"], check=True)
    version = subprocess.check_output([environment / "bin/soliloquy", "--version"], text=True).strip()
    print(json.dumps({"images": sorted(images), "served": sorted(served), "version": version}))


def _images(manifests: str) -> set[str]:
    return {line.split()[-1] for line in manifests.splitlines() if line.strip().startswith("image:")}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
