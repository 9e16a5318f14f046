"""A trace collector for the tests, and checks on its traces."""
