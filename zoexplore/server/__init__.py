"""The web server: who gets a session, what a browser may send, and monitoring."""
