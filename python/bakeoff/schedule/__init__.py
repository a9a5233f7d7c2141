"""Carrying a plan out: `conductor` is the whole story; each other file is one of its chapters."""
