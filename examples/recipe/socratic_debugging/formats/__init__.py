"""The recipe's own format."""
