"""What people say of conversations, turns, problems and pairs of replies, and how far they agree."""
