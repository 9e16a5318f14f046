"""The composition root: puts services, transports and models together into runs.

`generation` makes the dataset of a `plan` in a `folder`, through the `driver` and one of the `backends`: workers of its
own, or services that share a Kafka. `supervision` keeps processes running, each a `worker` that serves an `assignment`.
`assembly`, `model`, `gateway` and `chat` build what a worker serves.
"""
