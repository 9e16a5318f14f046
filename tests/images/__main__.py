"""Implements `make images-check`: runs the images' build steps, then their result as a restricted pod would."""

import sys
import tempfile
import time
from pathlib import Path

from tests.images.build import Builder
from tests.images.dockerfile import FILE, command, stages

# The model's packages take several GB, so it is built only on request.
_USUAL = ("workers", "executor")
_PROOFS = {
    "workers": (["--version"], ["problems", "list"], ["asyncapi"]),
    "executor": (["--version"], ["sandbox", "selftest"]),
    "model": (["--version"], ["model", "serve", "--help"], ["train", "--help"]),
}


def main(names: list[str]) -> None:
    described = stages(FILE.read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="soliloquy-images-") as folder:
        builder = Builder(stages=described, folder=Path(folder))
        for name in names or _USUAL:
            started = time.monotonic()
            builder.build(name)
            for proof in _PROOFS[name]:
                builder.run(name, [*command(described, name), *proof])
                print(f"{name}: soliloquy {' '.join(proof)}: as it should be")
            megabytes = builder.size(name) / 1e6
            print(f"{name}: {megabytes:.0f} MB over its base, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
