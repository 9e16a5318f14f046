"""The object stores that the tests share."""

from tests.objects.clouds import azure as azure
from tests.objects.clouds import azure_bucket as azure_bucket
from tests.objects.clouds import google as google
from tests.objects.clouds import google_bucket as google_bucket
from tests.objects.fixtures import bucket as bucket
from tests.objects.fixtures import object_store as object_store
