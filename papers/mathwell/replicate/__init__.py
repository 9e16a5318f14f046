"""Computes the tables of the MATHWELL paper from its published labels and problems."""

PAPER = "mathwell"
