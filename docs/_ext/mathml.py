"""Write formulas as MathML, which browsers show without a script from elsewhere."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_MATH = re.compile(r"</?math\b[^>]*>")


def formula(latex: str, display: str) -> str:
    """Return one formula as MathML; a block with ``&`` or several lines is an aligned table."""
    if display == "block" and ("&" in latex or r"\\" in latex):
        rows = "".join(f"<mtr>{cells(line)}</mtr>" for line in latex.split(r"\\"))
        table = f'<mtable displaystyle="true" class="aligned">{rows}</mtable>'
        return f'<math xmlns="{NAMESPACE}" display="block">{table}</math>'
    return converted(latex, display)


def cells(line: str) -> str:
    """Return the cells of one aligned line: alternately ended and begun at the ``&``."""
    return "".join(f"<mtd>{inner(cell)}</mtd>" for cell in line.split("&"))


def inner(latex: str) -> str:
    """Return what stands inside the ``math`` element of a formula."""
    return _MATH.sub("", converted(latex, "inline")) if latex.strip() else ""


def converted(latex: str, display: str) -> str:
    r"""Return MathML; raise if a command is left: the converter copies those it does not know."""
    known = re.sub(r"\\arg(?=\\m)", r"\\operatorname{arg}\\,", latex)
    written = convert(known, display=display)
    if re.search(r"\\[a-zA-Z]+", written):
        raise ValueError(f"a formula has a command that is not known: {latex}")
    return written


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula inside a sentence."""
    translator.body.append(formula(node.astext(), "inline"))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    translator.body.append(f'<div class="formula">{formula(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the writer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
