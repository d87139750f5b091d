"""Attacks on the author: what an attacker learns from texts about who wrote them."""
