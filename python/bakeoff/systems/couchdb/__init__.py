"""CouchDB, and a peer that speaks its protocol."""
