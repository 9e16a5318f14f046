"""A dataset as one HTML file: what it comes to, and every conversation to read."""
