"""What texts are like: their words and phrases, and how much of them two texts share."""
