"""The protobuf contract, generated from protos/ when the project is installed."""
