"""What the package's own code runs on: the C module, imports on first use, threads, event loops."""
