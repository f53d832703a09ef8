"""Computes slow answers in processes beside the event loop, and caches them."""
