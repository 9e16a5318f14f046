"""Topics for one benchmark, apart from those of services on the same Kafka."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from aiokafka.admin import AIOKafkaAdminClient

from soliloquy.runtime.topics import shapes
from soliloquy.runtime.transports.kafka import KafkaSettings, layout
from soliloquy.runtime.transports.kafka.connection import client_options
from soliloquy.runtime.transports.kafka.layout import admin

_COPIES = 3


@asynccontextmanager
async def own_topics(kafka: KafkaSettings) -> AsyncIterator[KafkaSettings]:
    """Makes every topic under a prefix of its own, and deletes them at the end."""
    own = await make(kafka)
    try:
        yield own
    finally:
        await remove(own)


async def make(kafka: KafkaSettings) -> KafkaSettings:
    own = replace(kafka, prefix=f"{kafka.prefix}bench-{secrets.token_hex(4)}.")
    async with admin(own) as cluster:
        copies = min(_COPIES, await cluster.brokers())
    try:
        await layout.apply(own, replication=copies)
    except BaseException:
        await remove(own)
        raise
    return own


async def remove(own: KafkaSettings) -> None:
    client = AIOKafkaAdminClient(**client_options(own))
    await client.start()
    try:
        await client.delete_topics([own.prefix + shape.topic for shape in shapes()])
    finally:
        await client.close()
