"""An object store of the tests' own, which speaks S3."""
