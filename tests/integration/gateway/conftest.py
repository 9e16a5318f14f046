from tests.kafka.fixtures import kafka as kafka
