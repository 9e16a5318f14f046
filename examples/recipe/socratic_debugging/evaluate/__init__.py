"""The recipe's evaluation."""
