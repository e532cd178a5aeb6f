"""Exports: a session as one file that needs neither thimble nor a network; a module for each format.

The formats are `document` (JSON), `markdown` and `page` (HTML, with its style and scripts in separate files);
`export` is /export.
"""
