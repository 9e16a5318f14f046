"""Shares a broker among these tests."""

from tests.kafka.fixtures import kafka as kafka
