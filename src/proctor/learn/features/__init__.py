"""Features of videos, one row per stretch of seconds: read as published, or extracted, and kept in stores; see ``docs/features.md``."""
