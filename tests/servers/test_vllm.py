"""vLLM's own server, whose reasoning parser gives thoughts a field of their own."""

import pytest

from tests.servers.promises import RealServerPromises
from tests.servers.running import RealServer


class TestVllm(RealServerPromises):
    @pytest.fixture
    def server(self, vllm: RealServer) -> RealServer:
        return vllm
