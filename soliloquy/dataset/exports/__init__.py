"""Exports datasets to the formats of other tools and imports them; each format is a module."""
