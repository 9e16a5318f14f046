"""Builds the images' stages without a container engine, in roots that lie over this machine's own."""
