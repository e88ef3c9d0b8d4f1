"""The only room that touches video: what a file is, its frames and clips.

PyAV and Pillow (extra ``video``) are imported when they are first needed.
"""
