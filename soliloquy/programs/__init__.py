"""What a short program computes, followed statement by statement without running it."""
