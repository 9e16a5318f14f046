from tests.models.fixtures import adapters, base

__all__ = ["adapters", "base"]
