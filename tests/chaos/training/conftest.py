"""Trains with several workers, one of which is killed."""

from tests.integration.training.conftest import base, data

__all__ = ["base", "data"]
