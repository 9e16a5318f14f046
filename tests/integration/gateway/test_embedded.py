"""The gateway on the embedded log."""

from tests.integration.gateway.contract import GatewayContract


class TestOnTheEmbeddedLog(GatewayContract):
    pass
