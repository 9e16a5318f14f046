"""Apache Kafka for development and tests: real brokers on this machine, started by whoever needs them."""
