"""Makes the finished comparison of training methods at a fixed epsilon, and the studies beside it:
searches for settings, trains, and measures.
"""
