"""Gives clients what Strimzi's KafkaUsers say, as its operator does."""

from collections.abc import Iterable, Mapping
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import CreateAclsRequest

from soliloquy.runtime.transports.kafka import KafkaSettings
from soliloquy.runtime.transports.kafka.connection import client_options

# Numbers of Kafka's protocol.
_RESOURCES = {"topic": 2, "group": 3}
_OPERATIONS = {"Read": 3, "Write": 4, "Describe": 8}
_LITERAL, _ALLOW = 3, 3


async def grant(admin: KafkaSettings, users: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """`users` maps the names of certificates to ACLs as a KafkaUser has them."""
    client = AIOKafkaAdminClient(**client_options(admin))
    await client.start()
    try:
        for name, acls in users.items():
            for acl in acls:
                assert acl["resource"]["patternType"] == "literal"
                for operation in acl["operations"]:
                    await _create(client, name, acl["resource"], operation)
    finally:
        await client.close()


async def _create(client: AIOKafkaAdminClient, name: str, resource: Mapping[str, str], operation: str) -> None:
    request = CreateAclsRequest(
        resource_type=_RESOURCES[resource["type"]],
        resource_name=resource["name"],
        resource_pattern_type_filter=_LITERAL,
        principal=f"User:CN=soliloquy-test-{name}",
        host="*",
        operation=_OPERATIONS[operation],
        permission_type=_ALLOW,
    )
    response: Any = await client._send_request(request)
    [(code, message)] = response.creation_responses
    assert code == 0, f"{name} {resource} {operation}: {message}"
