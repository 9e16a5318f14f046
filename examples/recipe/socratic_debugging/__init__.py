"""Socratic debugging: a recipe that a package of its own brings to Soliloquy."""
