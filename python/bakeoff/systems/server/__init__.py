"""What every system that is a server has in common, whatever its product. Imports no other room."""
