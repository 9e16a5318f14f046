"""Models what a simulated student knows of each step, what it wrongly believes, and what changes its mind."""
