"""Search over a corpus: by words, by vectors, by modality."""
