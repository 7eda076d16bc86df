"""Arrays made of buffers, batches of columns, and their text forms."""
