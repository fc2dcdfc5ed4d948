"""Processes that are killed, disks that are full, forks, threads and signals: ``make chaos``.

Each round runs a scenario in a process of its own, with random numbers of its own, and looks
afterwards whether what was promised still holds. ``--only kills:7`` runs one round again.
"""
