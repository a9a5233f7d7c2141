"""Where engine processes run: on this machine (`local`) or on others (`ssh`, `dask`); `host` is the interface."""
