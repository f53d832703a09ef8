"""What only the browser knows: its address and history, its colour scheme, and the page's script."""
