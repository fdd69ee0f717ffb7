"""The sub-commands of `keisei`, one module for each group. Loaded only when called."""
