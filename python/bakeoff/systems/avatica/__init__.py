"""Systems that speak Calcite Avatica's protocol."""
