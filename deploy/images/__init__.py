"""Builds the images of the chart."""
