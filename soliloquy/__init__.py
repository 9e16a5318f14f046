"""Soliloquy: tutoring conversations whose numbers are right."""
