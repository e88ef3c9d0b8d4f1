"""Interchange: recordings and task graphs from and to the files of other tools.

One module a format; each declares one or more ``Format`` values in a tuple ``FORMATS`` and imports heavy packages
inside its functions. ``docs/interchange.md`` has the table of all formats (a test keeps it equal to these).
"""

from __future__ import annotations

from proctor.datasets.interchange.format import Format, Imported, find_format, formats, guess_format

__all__ = ["Format", "Imported", "find_format", "formats", "guess_format"]
