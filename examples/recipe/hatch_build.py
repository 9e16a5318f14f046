"""Compiles labels.proto at installation."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent


class LabelsBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        from grpc_tools import protoc

        labels = [str(path) for path in HERE.glob("*/labels.proto")]
        if protoc.main(["protoc", f"-I{HERE}", f"--python_out={HERE}", f"--pyi_out={HERE}", *labels]):
            raise RuntimeError("labels.proto cannot be compiled; the message of protoc is above")
        build_data["artifacts"] += ["*/labels_pb2.py", "*/labels_pb2.pyi"]
