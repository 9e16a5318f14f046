"""The composition root: puts services, transports and models together into runs.

`generation` makes the dataset of a `plan` in a `folder`, through the `driver` and a backend: workers of its
own (`local_backend`), or services that share a Kafka (`kafka_backend`). `installation` keeps all services running;
`supervision` restarts their processes, each a `worker` that serves an `assignment`.
`assembly`, `model`, `gateway` and `chat` build what a worker serves.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def _bind(name: str) -> None:
    """Makes `name` the package installed beside this one, even if another of that name comes first on the path.

    Its __init__.py is not executed: ours is empty, and another package of that name may have overwritten it.
    """
    folder = Path(__file__).parents[2] / name
    spec = spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
    loaded = sys.modules.get(name)
    if spec is not None and (loaded is None or str(folder) not in loaded.__path__):
        sys.modules[name] = module_from_spec(spec)


for _name in ("services", "training"):
    _bind(_name)
