"""The `soliloquy` command."""

import os

# Sandboxes are started by fork and exec, for which gRPC has nothing to do but to complain; it reads this when imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
