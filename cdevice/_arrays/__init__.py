"""Arrays made of buffers, batches of columns, and what is shown of them."""
