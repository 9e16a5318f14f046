"""The server of llama.cpp's Python bindings. It answers one request at a time, whatever model it is asked for."""

import pytest

from tests.servers.promises import RealServerPromises
from tests.servers.running import RealServer


class TestLlamaCpp(RealServerPromises):
    @pytest.fixture
    def server(self, llama_cpp: RealServer) -> RealServer:
        return llama_cpp
