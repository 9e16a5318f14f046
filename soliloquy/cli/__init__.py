"""The `soliloquy` command."""

import logging
import os
from importlib import import_module

# Sandboxes start by fork and exec, about which gRPC would only warn; it reads this variable on import.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
# aiokafka logs every attempt to reach a broker; the commands report a lasting failure in one line.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
# Commands import `services` and `training`, which this package finds whatever comes first on the path.
import_module("soliloquy.runs")
