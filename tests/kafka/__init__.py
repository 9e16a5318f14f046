"""Apache Kafka for development and tests: real brokers on this machine."""
