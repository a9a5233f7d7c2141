"""MongoDB, and a peer that speaks its protocol."""
