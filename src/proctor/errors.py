"""The one exception that a user can fix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

__all__ = [
    "EXTRAS",
    "MAX_LINE",
    "MissingExtraError",
    "UserError",
    "did_you_mean",
    "install_line",
    "missing_extra",
    "shortened",
]

MAX_LINE: Final = 1_000
"""Characters of one line of a message; a file may hold a name of fifty million."""

EXTRAS: Final[Mapping[str, str]] = {
    "PIL": "video",
    "any_llm": "anyllm",
    "argon2": "studio",
    "authlib": "sso",
    "babel": "studio",
    "cryptography": "studio",
    "av": "video",
    "bm25s": "corpus",
    "charset_normalizer": "corpus",
    "datasets": "hf",
    "faster_whisper": "asr",
    "datasketch": "corpus",
    "faiss": "corpus",
    "fast_sugiyama": "studio",
    "httptools": "studio",
    "httpx2": "sso",
    "joserfc": "sso",
    "lightgbm": "learn",
    "markdown_it": "studio",
    "numba": "corpus",
    "onnxruntime": "onnx",
    "pandas": "dataframes",
    "pdfplumber": "corpus",
    "pgvector": "pgvector",
    "polars": "dataframes",
    "psycopg": "postgres",
    "pyarrow": "parquet",
    "pypdfium2": "corpus",
    "python_multipart": "studio",
    "qdrant_client": "qdrant",
    "ray": "ray",
    "redis": "redis",
    "segno": "studio",
    "selectolax": "corpus",
    "sentence_transformers": "sentence-transformers",
    "sklearn": "learn",
    "starlette": "studio",
    "threadpoolctl": "corpus",
    "tokenizers": "onnx",
    "torch": "transformers",
    "transformers": "transformers",
    "uvicorn": "studio",
}
"""The extra that brings a package, by the name it is imported by; a test holds it against all imports."""


class UserError(Exception):
    """Something the user can put right: bad input, a wrong flag, a missing file.

    The command line prints it without a traceback and exits with status 2, so the message has to say
    what was seen, where, and what to do next.

    Args:
        message: what was seen, as a full sentence.
        where: file, line or field the message is about.
        hint: what the user can do next.
    """

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.message = message
        self.where = where
        self.hint = hint
        super().__init__(self.render())

    def __reduce__(self) -> tuple[object, ...]:
        """Keep all three parts when the error comes from another process."""
        return _rebuild, (type(self), self.message, self.where, self.hint)

    def render(self) -> str:
        """Return the message with its place in front and its hint behind."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        whole = f"{text}\n  → {self.hint}" if self.hint else text
        return "\n".join(_visible(shortened(line)) for line in whole.split("\n"))


def _rebuild(type_: type[UserError], message: str, where: str | None, hint: str | None) -> UserError:
    error = type_.__new__(type_)
    UserError.__init__(error, message, where=where, hint=hint)
    return error


def _visible(text: str) -> str:
    """Escape what does not print: messages quote files, and a file must not steer the terminal."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape", "surrogatepass").decode("ascii")
        for c in text
    )


class MissingExtraError(UserError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed.",
            hint=install_line(extra),
        )


def install_line(*extras: str) -> str:
    """Return what installs extras, ending in what can be copied; the rehearsal is a package of the clone, on no index."""
    names = ",".join(extra for extra in extras if extra != "rehearsal")
    line = f"pip install 'proctor-bench[{names}]'" if names else "pip install"
    return f"in a clone of Proctor: {line} ./src/proctor_rehearsal" if "rehearsal" in extras else line


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint for a name that is none of those that are known: the one that is meant, else another hint, or all of them."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else otherwise or f"known here: {', '.join(names) or 'none'}"


def shortened(text: str, limit: int = MAX_LINE) -> str:
    """Cut the middle out of a text that quotes something huge."""
    return text if len(text) <= limit else f"{text[: limit // 2]} … {text[-(limit // 2) :]}"


def missing_extra(error: ModuleNotFoundError) -> MissingExtraError | None:
    """Return what to install when an import failed for a package of an extra; None for any other module."""
    package = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(package)
    return None if extra is None else MissingExtraError(package, extra, "This")
