from collections.abc import Sized

class AnnifProject:
    subjects: Sized
