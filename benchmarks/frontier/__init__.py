"""The finished comparison of training methods at fixed epsilon, and the studies beside it: searched
for, trained, measured.
"""
