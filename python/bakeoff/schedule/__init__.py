"""Carrying a plan out: `conduct` is the whole story; each other file is one of its chapters."""
