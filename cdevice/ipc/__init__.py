"""Arrays that several processes of one machine have: shared memory, and how it gets from one to another."""
