"""Questions of a style over texts, tables and images (SMMQG)."""
