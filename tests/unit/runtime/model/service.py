"""A `ModelService` that generates, for servers of either kind."""

from collections.abc import Callable
from typing import Any

import grpc
from soliloquy.v1.model_pb2 import DESCRIPTOR, Completion, GenerateRequest


def generating(generate: Callable[[GenerateRequest, Any], Any]) -> grpc.GenericRpcHandler:
    handler = grpc.unary_unary_rpc_method_handler(
        generate,
        request_deserializer=GenerateRequest.FromString,
        response_serializer=Completion.SerializeToString,
    )
    service = DESCRIPTOR.services_by_name["ModelService"].full_name
    return grpc.method_handlers_generic_handler(service, {"Generate": handler})
