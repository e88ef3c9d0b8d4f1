"""A real studio as a process: ``serve.py WORKSPACE DATABASE PORT [VIDEOS]``; DATABASE may be ``-`` for that of the settings."""

from __future__ import annotations

import sys
from pathlib import Path

from proctor.stages.studio import open_studio
from proctor.studio.app import build_app
from proctor.studio.context import Settings
from proctor.studio.server import bind, serve

if __name__ == "__main__":  # the process that cuts clips is made by spawning, which reads this file again
    root, database, port = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    videos = Path(sys.argv[4]) if len(sys.argv) > 4 else None
    with bind("127.0.0.1", port) as listening:
        settings = Settings(project="Walk", origin=f"http://127.0.0.1:{port}", folder=root / "studio")
        with open_studio(
            root, settings, database=None if database == "-" else database, videos=videos
        ) as studio:
            serve(build_app(studio, demo=True), listening)
