"""What a system promises, against what experiments showed of it: verdicts, from their evidence alone."""
