"""Models: their interface, which one answers each role, and how a call survives faults on its way."""

from soliloquy.runtime.model.port import (
    ChunkReceiver,
    ListenedModel,
    Model,
    ModelRefused,
    StreamingModel,
    StreamListener,
)

__all__ = ["ChunkReceiver", "ListenedModel", "Model", "ModelRefused", "StreamListener", "StreamingModel"]
