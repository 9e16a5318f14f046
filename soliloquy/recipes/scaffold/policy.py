"""Loads the recipe's limits and shares from `rules.toml`."""

from soliloquy.runtime.beside import table_beside

POLICY = table_beside(__file__, "rules.toml")
