"""The sentences of a report and the rows of its tables, one file for each kind of finding. `headline` orders them."""
