"""The report as one HTML file: `write` makes the files, `page` what the templates show, `rows` their tables."""
