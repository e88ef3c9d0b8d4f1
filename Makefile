mypy:
	.venv/bin/mypy src
