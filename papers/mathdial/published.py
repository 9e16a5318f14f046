"""The paper's figures, from `published.toml`."""

from soliloquy.runtime.files import table_beside

PUBLISHED = table_beside(__file__, "published.toml")
