"""A collector of traces for the tests, and what there is to be said of what it got."""
