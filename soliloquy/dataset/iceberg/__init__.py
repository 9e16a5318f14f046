"""Datasets as rows of an Apache Iceberg table."""
