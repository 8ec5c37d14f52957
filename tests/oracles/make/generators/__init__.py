"""What each oracle file is made of, one kind of file a module."""
