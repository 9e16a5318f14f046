"""The broker that the tests share."""

from tests.kafka.fixtures import kafka as kafka
