"""Reads the conversations of a training from a dataset's folder or URL."""

import json
from collections.abc import Iterator

import pyarrow as pa
from google.protobuf.message import DecodeError

from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.failure import Failure, one_line
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation


def digest_of(data: str) -> str:
    """Returns a digest of the accepted shards; in a table, whose rows never change, of their number."""
    dataset = opened(data)
    shards = [shard for shard in dataset.manifest["shards"] if str(shard["name"]).startswith("accepted/")]
    return digest(json.dumps(shards or [dataset.count()], sort_keys=True))


def opened(data: str) -> Dataset:
    dataset = Dataset(data)
    if dataset.count():
        return dataset
    rejected = dataset.count(rejected=True)
    why = f"all of its {rejected} were rejected" if rejected else "it is empty"
    raise Failure(f"{data} has no conversations to learn from: {why}; generate some that are accepted")


def conversations(data: str) -> Iterator[Conversation]:
    dataset = opened(data)
    try:
        for _, conversation in dataset.placed():
            yield conversation
    except (KeyError, pa.ArrowException, DecodeError) as error:
        raise Failure(
            f"{data} has no rows of conversations ({one_line(error)}): use the folder of a dataset"
        ) from error
