"""Recognising mistakes in recorded steps: features, models, training and what comes out; see ``docs/learn.md``.

Modules load torch and LightGBM late, so that reading annotations and pages needs neither.
"""
