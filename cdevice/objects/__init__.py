"""Python objects in and out: buffers, values of every type, how an array prints."""
