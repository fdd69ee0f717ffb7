"""The panels of the page, one module each; each has a function ``build`` that fills an empty page."""
