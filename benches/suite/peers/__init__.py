"""Other load generators, one file each."""
