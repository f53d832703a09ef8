"""What a server does for its sessions: who gets one, what a browser may send, and giving back what they held."""
