"""What is said in a sound: transcribers, ours (faster-whisper, from a folder on this machine) and those of other packages."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from proctor.errors import MissingExtraError, UserError
from proctor.plugins import load_plugin, told

__all__ = ["TRANSCRIBERS", "Transcriber", "load_transcriber", "whisper"]

TRANSCRIBERS: Final = "proctor.transcribers"
"""Group of entry points: functions of a folder with a model and a language ("" for whichever is spoken)."""
_NO_SPEECH: Final = 0.6
"""Probability of no speech from which a segment is dropped: in silence Whisper invents text."""


Transcriber = Callable[[Path], str]
"""Returns what is said in a file, "" where nobody speaks; raises UserError if it cannot be read."""


def load_transcriber(backend: str, model: Path, language: str = "") -> Transcriber:
    """Return the transcriber of an entry point with a model from a folder; nothing is fetched.

    Raises:
        UserError: if there is no such backend, or the folder holds no model of it.
        MissingExtraError: if its package is not installed.
    """
    points = entry_points(group=TRANSCRIBERS)
    if backend not in points.names:
        known = ", ".join(sorted(points.names)) or "none"
        raise UserError(f"there is no transcriber '{backend[:60]}'.", hint=f"installed: {known}")
    if not model.is_dir():
        raise UserError("there is no such folder with a model.", where=str(model))
    what = f"the transcriber '{backend}'"
    make = load_plugin(points.select(name=backend), what, "a function of a folder and a language", callable)
    found: Transcriber = make(model, language)
    return found


def whisper(model: Path, language: str = "") -> Transcriber:
    """Return faster-whisper with a model of CTranslate2; the entry point ``faster-whisper``."""
    if not (model / "model.bin").is_file():
        hint = "get a folder such as Systran/faster-whisper-small, or convert one with ct2-transformers-converter"
        raise UserError("there is no model.bin of faster-whisper in it.", where=str(model), hint=hint)
    try:
        from faster_whisper import WhisperModel
    except ImportError:
        raise MissingExtraError("faster-whisper", "asr", "Writing down what people said") from None
    try:
        loaded = WhisperModel(str(model), local_files_only=True)
    except Exception as error:  # CTranslate2 raises RuntimeError for everything
        raise UserError(f"the model cannot be loaded: {told(error)}", where=str(model)) from error

    def hear(sound: Path) -> str:
        options = {"vad_filter": True, "temperature": 0.0, "condition_on_previous_text": False}
        try:
            segments, _ = loaded.transcribe(str(sound), language=language or None, **options)
            spoken = [s.text.strip() for s in segments if s.no_speech_prob < _NO_SPEECH]
        except Exception as error:  # of its decoder, whatever the file holds
            raise UserError(f"it cannot be transcribed: {told(error)}", where=str(sound)) from error
        return " ".join(filter(None, spoken))

    return hear
