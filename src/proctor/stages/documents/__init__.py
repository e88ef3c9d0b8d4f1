"""SMMQG's stages: corpus, questions in styles, retrieval, answers, report."""
