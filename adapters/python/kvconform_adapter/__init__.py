"""Adapters that let kvconform drive a cache written in Python: see docs/protocol.md."""

__version__ = "0.1.0"
