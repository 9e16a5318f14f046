"""Finished conversations as files: shards, their manifest, what is read and exported from them."""
