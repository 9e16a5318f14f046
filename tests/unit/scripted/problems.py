"""A worked problem."""

from pathlib import Path

from google.protobuf.json_format import Parse

from soliloquy.v1.conversation_pb2 import Problem

CART = Parse(Path(__file__).with_name("cart.json").read_text("utf-8"), Problem())
