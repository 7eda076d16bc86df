"""What becomes an array, and what arrays become: one file a library, which it imports inside its functions."""
