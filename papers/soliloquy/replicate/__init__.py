"""Computes the figures of the Code Soliloquies paper from its published conversations, problems and transcripts."""

PAPER = "code-soliloquies"
