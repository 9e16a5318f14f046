"""Datasets in the formats of others, and back: a module a format."""
