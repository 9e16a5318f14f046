"""Compiles the protobuf contract when the project is installed."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROTOS = Path(__file__).parent


class ProtoBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        from grpc_tools import protoc

        files = sorted(str(path) for path in PROTOS.glob("soliloquy/v1/*.proto"))
        code = protoc.main(["protoc", f"-I{PROTOS}", f"--python_out={PROTOS}", f"--pyi_out={PROTOS}", *files])
        if code:
            raise RuntimeError(f"protoc exited with {code}; its message is above")
        build_data["artifacts"] += ["protos/soliloquy/v1/*_pb2.py", "protos/soliloquy/v1/*_pb2.pyi"]
