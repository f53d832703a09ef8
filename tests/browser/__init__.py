"""The page in Chromium. A package, so that what is begun once for all of these tests ends with the
last of them.
"""
