"""The Train tab: what to train, its progress, and its results, utility against privacy."""
