"""The studio as ``proctor studio`` serves it, but without a limit on how fast one person may write.

The limit (some saves a second for each person) is what a closed loop would otherwise measure. All else is the same.

Run: python benchmarks/studio/serve.py WORKSPACE TARGET PORT (started by load.py and fault_load.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

from proctor.stages.studio import open_studio
from proctor.studio.app import build_app
from proctor.studio.auth import Auth, Limits
from proctor.studio.context import Settings
from proctor.studio.server import bind, serve

NO_LIMITS = Limits(writes_per_second=1e9, writes_at_once=1_000_000_000)


def main() -> None:
    root, target, port = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    origin = f"http://127.0.0.1:{port}"
    with bind("127.0.0.1", port) as listening:
        settings = Settings(project="load", origin=origin, folder=root / "studio")
        with open_studio(root, settings, database=target) as studio:
            studio.auth.close()
            studio.auth = Auth(studio.desk, origin, limits=NO_LIMITS)
            serve(build_app(studio), listening)


if __name__ == "__main__":
    main()
