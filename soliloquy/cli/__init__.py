"""The `soliloquy` command."""

import logging
import os

# Sandboxes start by fork and exec, about which gRPC would only warn; it reads this variable on import.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
# aiokafka logs every attempt to reach a broker; the commands report a lasting failure in one line.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
