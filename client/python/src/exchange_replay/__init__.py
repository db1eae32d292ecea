"""Plays recorded order flow into an exchange: docs/replay.md of the exchange."""
