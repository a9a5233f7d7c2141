"""What a system promises, against what it does: experiments without load, and verdicts with evidence."""
