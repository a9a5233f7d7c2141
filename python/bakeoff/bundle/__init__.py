"""Result folders on disk: `write` while runs go on, `read` afterwards. The layout is in model/records.py."""
