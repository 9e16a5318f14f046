"""Asking models: what every model is, which one answers a role, and how a call outlasts what goes wrong on its way."""

from soliloquy.runtime.model.port import Model, ModelRefused

__all__ = ["Model", "ModelRefused"]
