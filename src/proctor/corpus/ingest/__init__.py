"""Documents to sources: PDF, HTML, Markdown, plain text, CSV and images become texts, tables and images of a corpus."""

from proctor.corpus.ingest.folder import ingest_file, ingest_folder, ingest_path
from proctor.corpus.ingest.reading import IngestOptions

__all__ = ["IngestOptions", "ingest_file", "ingest_folder", "ingest_path"]
