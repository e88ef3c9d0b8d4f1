"""Streams of one recording on one clock: clock maps, matching, interpolation, what is measured and how good that is."""
