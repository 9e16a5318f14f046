"""Formats of word problems with programs, as MATHWELL has them."""
