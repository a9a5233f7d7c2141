"""DuckDB: columns in one file, in the engine itself, which loads DuckDB's shared library."""
