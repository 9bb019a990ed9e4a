"""What makes parts of docs/: `python -m docs_tools.reference` (pages), `python -m docs_tools.pictures` (pictures)."""
