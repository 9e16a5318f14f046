"""Two worked problems."""

import json
from pathlib import Path

from google.protobuf.json_format import ParseDict

from soliloquy.v1.conversation_pb2 import Problem

CART, STONE_FALL = (
    ParseDict(row, Problem()) for row in json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
)
