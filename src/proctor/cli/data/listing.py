"""``proctor datasets list``: which data sets Proctor reads."""

from __future__ import annotations

from proctor.cli.console import JsonFlag, command_app, emit, table

app = command_app()


@app.command("list")
def list_datasets(as_json: JsonFlag = False) -> None:
    """List the data sets that can be read, ours and those of plugins.

    Example: proctor datasets list
    """
    from proctor.stages.datasets_info import list_datasets

    rows = list_datasets()
    shown = [(r.name, r.title, r.kind, r.licence, r.tried_on) for r in rows]
    text = table(shown, ("name", "title", "holds", "licence", "tried on"))
    emit({"datasets": rows}, text + "\n\nmore: proctor datasets info NAME", as_json=as_json)
