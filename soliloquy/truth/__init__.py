"""Finds what a text claims in numbers and formulas, and whether it is true; independent of any recipe."""
