"""Compiles the contract and the recipes' labels at installation; adds rules, the example and an SBOM to the wheel."""

import json
import os
import re
import shutil
import sysconfig
import uuid
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROTOS = Path(__file__).parent
ROOT = PROTOS.parent
LABELS = ("soliloquy/recipes/*", "soliloquy_papers/*")
RULES = ROOT / "deploy" / "helm" / "soliloquy" / "files" / "rules"
EXAMPLE = ROOT / "examples" / "recipe"
# The dependencies that the tests of this version ran with.
LOCK = ROOT / "requirements.lock"
_LOCKED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


class ProtoBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        messages = sorted(PROTOS.glob("soliloquy/v1/*.proto"))
        # Imported as soliloquy_papers: by a link in a checkout, by the wheel's sources elsewhere.
        if not (link := ROOT / "soliloquy_papers").exists():
            link.symlink_to("papers")
        labels = [path for place in LABELS for path in sorted(ROOT.glob(f"{place}/labels.proto"))]
        services = [path for path in messages if "\nservice " in path.read_text("utf-8")]
        _compile([*messages, *labels], f"--python_out={ROOT}", f"--pyi_out={ROOT}")
        stubs = f"--plugin=protoc-gen-mypy_grpc={_plugin('protoc-gen-mypy_grpc')}"
        _compile(services, f"--grpc_python_out={ROOT}", stubs, f"--mypy_grpc_out={ROOT}")
        # The gateway's OpenAPI document takes its descriptions from the comments.
        for path in messages:
            shutil.copy(path, ROOT / path.relative_to(PROTOS))
        if version == "standard" and self.target_name == "wheel":
            # An editable install reads these from the checkout.
            build_data["force_include"][str(RULES)] = "soliloquy/cli/rules"
            build_data["force_include"][str(EXAMPLE)] = "soliloquy/cli/example"
            bill = Path(self.directory) / "soliloquy.cdx.json"
            bill.parent.mkdir(parents=True, exist_ok=True)
            bill.write_text(json.dumps(_sbom(self.metadata.version, LOCK.read_text("utf-8")), indent=1), "utf-8")
            build_data["sbom_files"].append(str(bill))
        generated = ("soliloquy/v1/*_pb2*.py", "soliloquy/v1/*_pb2*.pyi", "soliloquy/v1/*.proto")
        build_data["artifacts"] += [
            *generated,
            *(
                f"{place}/labels_pb2.{ending}"
                for place in ("soliloquy/recipes/*", "papers/*")
                for ending in ("py", "pyi")
            ),
        ]


def _sbom(version: str, lock: str) -> dict[str, Any]:
    """Returns a CycloneDX document of the locked dependencies; the same lock gives the same document."""
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{locked}",
            "purl": f"pkg:pypi/{name}@{locked}",
            "name": name,
            "version": locked,
        }
        for name, locked in _LOCKED.findall(lock)
    ]
    own = {"type": "application", "bom-ref": "soliloquy", "name": "soliloquy", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"soliloquy {version}\n{lock}").urn,
        "version": 1,
        "metadata": {"component": own},
        "components": components,
        "dependencies": [{"ref": "soliloquy", "dependsOn": [component["bom-ref"] for component in components]}],
    }


def _compile(files: list[Path], *outputs: str) -> None:
    from grpc_tools import protoc

    code = protoc.main(["protoc", f"-I{PROTOS}", f"-I{ROOT}", *outputs, *map(str, files)])
    if code:
        raise RuntimeError(f"protoc exited with {code}; its message is above")


def _plugin(name: str) -> str:
    """Finds a plugin beside this Python, even if its environment is not activated, or on PATH in an isolated build."""
    path = shutil.which(name, path=os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", ""))))
    if path is None:
        raise RuntimeError(f"{name} is missing: install mypy-protobuf")
    return path
