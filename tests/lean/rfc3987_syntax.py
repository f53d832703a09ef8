"""On the path of kernels and notebook servers: with the one of this name, jsonschema would build a
grammar for over a second.
"""

raise ImportError("jsonschema checks no international addresses here")
