"""The web server: seats for sessions, limits on a browser's changes, and monitoring."""
