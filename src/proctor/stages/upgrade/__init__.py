"""Workspaces of older versions brought into today's form, on a copy."""
