"""The `soliloquy` command."""

import logging
import os

# Sandboxes are started by fork and exec, for which gRPC has nothing to do but to complain; it reads this when imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
# It logs every try to reach a broker; what lasts is said in a line by whoever waits for it.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
