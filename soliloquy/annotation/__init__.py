"""Judgements of people on conversations, turns, problems and pairs of replies, and how far they agree."""
