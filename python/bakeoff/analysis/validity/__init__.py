"""What may be believed of one run: `checks` asks every question, the other rooms answer some of them."""
