"""The composition root: puts services, transports and models together into runs.

`generation` makes the dataset of a `plan` in a `folder`, through the `driver` and a backend: workers of its
own (`local_backend`), or services that share a Kafka (`kafka_backend`). `installation` keeps all services running;
`supervision` restarts their processes, each a `worker` that serves an `assignment`.
`assembly`, `model`, `gateway` and `chat` build what a worker serves.
"""
