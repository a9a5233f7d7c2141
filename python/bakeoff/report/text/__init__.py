"""The report for terminals and other programs: our own layout, and sysbench's."""
