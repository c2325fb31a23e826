"""Copies of a whole node in one sealed file, and putting one back."""
