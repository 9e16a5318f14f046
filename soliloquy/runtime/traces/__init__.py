"""One trace for each conversation."""
