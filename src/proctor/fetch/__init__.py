"""Files from elsewhere: fetched when a user asks, checked, and unpacked without trusting them."""
