"""Apache Cassandra: clusters of our own on this machine, and existing ones."""
