"""What a text claims in numbers and formulas, and whether that is so; knows nothing of any recipe."""
