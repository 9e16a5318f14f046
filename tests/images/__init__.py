"""Builds the images' stages without a container engine, in roots on top of this machine's own."""
