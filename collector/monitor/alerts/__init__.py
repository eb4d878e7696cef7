"""Alerts: rules over metrics, what they come to, and who is told."""
