"""The recipe's limits and shares, from `rules.toml`."""

from soliloquy.runtime.files import table_beside

POLICY = table_beside(__file__, "rules.toml")
