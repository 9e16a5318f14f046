"""Annotation: people judge items by a scheme, each blind to the others."""
