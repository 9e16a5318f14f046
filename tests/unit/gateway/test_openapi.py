"""The OpenAPI document describes every message under a name of its own."""

from soliloquy.runtime.completions import CommonChatRequest
from soliloquy_services.gateway.chat.messages import ChatState
from soliloquy_services.gateway.http.openapi import Schemas


def test_a_message_of_a_chat_and_one_of_a_completion_are_told_apart() -> None:
    schemas = Schemas()
    schemas.of(ChatState)
    schemas.of(CommonChatRequest)
    fields = {name: set(schema["properties"]) for name, schema in schemas.referenced.items()}
    assert fields["ChatMessage"] == {"role", "text"}
    assert fields["RequestMessage"] == {"role", "content"}
