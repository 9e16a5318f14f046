"""A dataset from Python: its manifest, its conversations, and its rows as Arrow batches.

    dataset = Dataset("demo-dataset")  # or s3://bucket/dataset, or any other URL that fsspec knows
    for conversation in dataset:  # soliloquy.v1.conversation_pb2.Conversation
        print(conversation.problem.question, len(conversation.turns))
    for batch in dataset.batches(["turns.student.text"], where=[("problem.topic", "==", "waves")]):
        ...  # pyarrow.RecordBatch; nothing else is read from the disk
        place = place_after(batch)
    for batch in dataset.batches(after=place):
        ...  # the rest

Of a dataset that is being grown, batches are what its manifest lists so far; conversations are all that are there.
"""

from soliloquy.dataset.reading import Dataset, Filter, NoDataset, place_after

__all__ = ["Dataset", "Filter", "NoDataset", "place_after"]
