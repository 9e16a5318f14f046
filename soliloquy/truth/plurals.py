"""Plurals that no ending tells."""

from soliloquy.runtime.beside import table_beside

IRREGULAR_PLURALS = frozenset(table_beside(__file__, "plurals.toml")["irregular"])
