"""What querytap may cost, and what is given up to keep to it."""
