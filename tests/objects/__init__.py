"""Provides an S3-compatible object store for tests."""
