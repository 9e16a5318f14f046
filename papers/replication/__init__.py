"""Shared by the commands `replicate` of all recipes: the published rows, and the tables made of them."""
