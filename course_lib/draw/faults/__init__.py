"""Pictures of failures and of what is done about them."""
