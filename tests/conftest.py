"""What every test shares: hypothesis draws the same examples each time and has no deadline."""

from hypothesis import settings

settings.register_profile("course", derandomize=True, deadline=None)
settings.load_profile("course")
