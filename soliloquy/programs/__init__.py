"""Follows a short program statement by statement, without running it, to what it computes."""
