"""How servers are obtained and started: one way, one file. Nothing here knows what a plan is."""
