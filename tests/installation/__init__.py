"""Times an installation from an empty clone to the first conversation and its dashboard: `make installation`."""
