"""Slow answers: cached, and computed in processes beside the event loop."""
