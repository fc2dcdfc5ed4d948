"""Old names, until their users are moved."""

from vicinal.persistence.sklearn_steps import as_part, restored

__all__ = ["as_part", "restored"]
