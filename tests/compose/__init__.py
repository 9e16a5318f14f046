"""Runs the processes of the compose file on this machine, without a container engine."""
