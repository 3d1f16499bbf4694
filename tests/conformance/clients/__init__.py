"""Other people's clients, each behind the same face."""
