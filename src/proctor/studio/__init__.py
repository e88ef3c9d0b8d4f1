"""The web pages for people. No rule lives here that ``verify`` could hold."""
