"""Asking a vision-language model whether a step was carried out as it should be; see ``docs/zeroshot.md``."""
