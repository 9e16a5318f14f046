"""A `ModelService` that generates, for servers of either kind."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc

from soliloquy.v1.model_pb2 import DESCRIPTOR, Completion, Delta, GenerateRequest


def generating(generate: Callable[[GenerateRequest, Any], Any]) -> grpc.GenericRpcHandler:
    handler = grpc.unary_unary_rpc_method_handler(
        generate,
        request_deserializer=GenerateRequest.FromString,
        response_serializer=Completion.SerializeToString,
    )

    async def stream(request: GenerateRequest, context: Any) -> AsyncIterator[Delta]:
        completion = await generate(request, context)
        for word in completion.text.splitlines(keepends=True):
            yield Delta(text=word)
        yield Delta(completion=completion)

    streaming = grpc.unary_stream_rpc_method_handler(
        stream, request_deserializer=GenerateRequest.FromString, response_serializer=Delta.SerializeToString
    )
    service = DESCRIPTOR.services_by_name["ModelService"].full_name
    return grpc.method_handlers_generic_handler(service, {"Generate": handler, "GenerateStream": streaming})
