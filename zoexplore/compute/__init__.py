"""Answers that take long: cached, and computed in processes beside the event loop."""
