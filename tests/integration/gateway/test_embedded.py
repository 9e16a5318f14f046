"""The gateway on the embedded log."""

from tests.integration.gateway.contract import GatewayContract
from tests.integration.gateway.deletion_contract import DeletionContract


class TestOnTheEmbeddedLog(GatewayContract, DeletionContract):
    pass
