"""Multimodal sources (texts, tables, images) and the questions that are asked about them."""
