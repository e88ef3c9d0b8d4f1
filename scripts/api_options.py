"""For the Python API page (mkdocstrings): methods of ``Workspace`` get their options when they are imported, so they are imported here."""

from __future__ import annotations

import inspect
from typing import Any

import griffe


class Options(griffe.Extension):
    """Take the docstrings of ``proctor.api.Workspace`` from the class itself, with options as parameters."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Replace the docstrings of its methods."""
        if cls.path != "proctor.api.Workspace":
            return
        from proctor.api import Workspace

        for name, method in cls.functions.items():
            text = inspect.getdoc(getattr(Workspace, name, None))
            if text and method.docstring:
                method.docstring.value = text.replace("\nOptions:\n", "\nOther Parameters:\n")
