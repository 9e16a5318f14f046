"""The object store that the tests share."""

from tests.objects.fixtures import bucket as bucket
from tests.objects.fixtures import object_store as object_store
