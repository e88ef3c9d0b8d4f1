"""The model port: every call of a language or vision-language model goes through here."""
