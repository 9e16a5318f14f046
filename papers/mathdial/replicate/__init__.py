"""Computes the tables of the MathDial paper from its published dialogues."""

PAPER = "mathdial"
