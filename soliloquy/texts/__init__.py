"""Describes texts: their words and phrases, and how much of them two texts share."""
