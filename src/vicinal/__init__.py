"""Multi-label learning from neighbours: search once, learn many."""
