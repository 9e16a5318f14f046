"""MathDial's format."""
