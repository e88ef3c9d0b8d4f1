"""One file a protocol: pure ``render_*`` and ``parse_*`` functions, and a thin model around them."""
