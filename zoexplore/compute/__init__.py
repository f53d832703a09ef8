"""Answers that take long: remembered, and computed in processes beside the event loop."""
