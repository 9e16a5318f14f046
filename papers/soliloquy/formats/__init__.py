"""Formats of Code Soliloquies: its own data, and what its model was tuned with."""
