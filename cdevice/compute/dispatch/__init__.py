"""From a call of a function to the kernel that does it."""
