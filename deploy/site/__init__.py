"""Collects the pages of the documentation's site, which mkdocs builds: `make site`."""
