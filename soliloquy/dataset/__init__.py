"""Datasets of finished conversations: written as shards with a manifest, read, counted, shown and exported."""
