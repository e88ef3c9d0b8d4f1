"""Video, images and frames: the only room that opens media files."""
