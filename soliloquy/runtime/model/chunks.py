"""A chat completion as it comes in chunks, put together again."""

import json
from collections.abc import AsyncIterable
from typing import Any

from soliloquy.runtime.model.faults import Broken
from soliloquy.runtime.model.hearing import Hear

_FIELD = b"data:"
_END = b"[DONE]"


async def heard(lines: AsyncIterable[bytes], hear: Hear) -> bytes:
    """The completion as it would have come whole; raises Broken for one that stops short."""
    whole: dict[str, Any] = {}
    text, finish = "", None
    try:
        async for line in lines:
            if not line.startswith(_FIELD):
                continue
            content = line.removeprefix(_FIELD).strip()
            if content == _END:
                break
            chunk = json.loads(content)
            if "error" in chunk:
                raise Broken(f"the answer broke off: {chunk['error']}")
            whole |= {name: chunk[name] for name in ("model", "usage") if chunk.get(name)}
            for choice in chunk.get("choices", ())[:1]:
                finish = choice.get("finish_reason") or finish
                if piece := choice["delta"].get("content") or choice["delta"].get("refusal"):
                    text += piece
                    hear(piece)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Broken(f"an answer in chunks that are no chat completion ({type(error).__name__})") from error
    if finish is None:
        raise Broken("the answer stops before its end")
    return json.dumps(whole | {"choices": [{"message": {"content": text}, "finish_reason": finish}]}).encode()
