"""The commands of ``proctor capture`` as functions. docs/capture.md."""
