"""Makes what a release consists of."""
