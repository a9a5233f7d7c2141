"""Amazon DynamoDB, and Amazon's own emulator of it."""
