"""How files become batches for training: the plan of an epoch, and the threads that read it."""
