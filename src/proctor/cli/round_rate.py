"""``proctor round rate``: questions are rated by people (SMMQG's study, or a form of one's own)."""

from __future__ import annotations

from proctor.cli.console import WorkspaceArgument
from proctor.cli.options import Output, with_settings
from proctor.cli.round_begin import begin
from proctor.stages.rounds.rate import RateSettings

__all__ = ["rate"]


@with_settings
def rate(workspace: WorkspaceArgument, settings: RateSettings, output: Output) -> None:
    """Have people rate questions by a form: SMMQG's five metrics, or fields of your own.

    Test samples (--key) and attention checks (--form) are in every batch, at places that nobody knows. 'round collect' writes the
    ratings for 'study tables'.

    Example: proctor round rate bench study --form form.toml --workers --redirect 'https://example.org/done?cc={code}'
    """
    begin(workspace, "rate", settings, output)
