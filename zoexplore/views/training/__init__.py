"""The Train tab: what to train, how it goes, and what it shows of utility against privacy."""
