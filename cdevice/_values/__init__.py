"""Values of Python to rows of Arrow and back."""
