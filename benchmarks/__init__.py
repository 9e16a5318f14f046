"""Measures Soliloquy on this machine: `python -m benchmarks --help`."""
