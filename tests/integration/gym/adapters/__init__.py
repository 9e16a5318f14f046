"""Programs that play the gym through libraries of others, each with what it prints beside a mirror of the episode."""
