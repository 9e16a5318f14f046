"""Provides what tables rest on in production: a catalog in PostgreSQL and a warehouse in an S3 store."""
