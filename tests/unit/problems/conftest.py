"""A busy machine is slow and not wrong: generated examples have no deadline of their own, each test has one."""

from hypothesis import settings

settings.register_profile("curriculum", deadline=None)
settings.load_profile("curriculum")
