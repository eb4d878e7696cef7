"""What querytap costs under a load that is more than its cap allows, and what it gives up."""
