"""Kits: what makes an agent's host use askmesh, and how that is installed and taken out again."""
