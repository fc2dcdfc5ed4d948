"""Old names, until their users are moved."""

from vicinal.persistence.model_file import check_replaceable, read_model, write_model

MANIFEST = "manifest.json"
read_folder, write_folder = read_model, write_model
__all__ = ["MANIFEST", "check_replaceable", "read_folder", "write_folder"]
