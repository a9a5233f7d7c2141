"""Small builders that make a test read as a story."""
