"""Formats that every tool for chat models reads; each module is a format of its own name."""
