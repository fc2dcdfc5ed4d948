"""Settings of the documentation site: ``make site`` builds it, warnings are errors."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

project = "vicinal"
author = "The vicinal developers"
project_copyright = "the vicinal developers, BSD-3-Clause"
version = release = installed_version("vicinal")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "benchmark_page",
    "generated_pages",
    "mathml",
]
exclude_patterns = ["examples", "_ext", "gallery/**/*.ipynb", "gallery/**/*.py"]
exclude_patterns += ["evidence/reproduction-papers.md"]  # a file to download
# Options of commands keep their two hyphens.
smartquotes_action = "qe"
nitpicky = False
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autodoc_typehints = "none"
autosummary_generate = False
toc_object_entries_show_parents = "hide"  # the contents of a page list `fit`, not `Blend.fit`
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "show_memory": False,
    "download_all_examples": False,
    "plot_gallery": True,
    "remove_config_comments": True,
    "thumbnail_size": (640, 420),
    "within_subsection_order": "gallery_order.DefaultModelFirst",
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"vicinal {version}"
html_favicon = "../src/vicinal/service/static/icon.svg"
html_logo = "../src/vicinal/service/static/icon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"
html_theme_options = {
    "logo": {"text": f"vicinal {version}", "alt_text": "vicinal"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}  # without it the theme reports an error on a first visit
html_sidebars = {"index": []}
