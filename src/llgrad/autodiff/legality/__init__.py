"""What is refused before anything is planned."""
