"""The gateway as a process: what it is given, and what it is made of."""
