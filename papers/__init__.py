"""Measures, formats and replications for each paper, and the recipe of one that writes problems."""
