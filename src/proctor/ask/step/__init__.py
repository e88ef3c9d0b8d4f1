"""Questions about single steps: was each carried out as it should be? See ``docs/zeroshot.md``."""
