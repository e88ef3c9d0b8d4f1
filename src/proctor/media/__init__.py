"""The only room that touches video: what a file is, its frames, clips, and our own synthetic recordings.

PyAV and Pillow (extra ``video``) are imported when they are first needed.
"""
