"""Exports: a session as one file that needs no thimble and no network, a format a file.

`story` is what the journal tells of the current branch, `retold` is the screen on which it was told. `document` (JSON),
`markdown`, `page` (HTML, with `page.css` and the scripts `page_views.js`, `page_parts.js` and `page.js`), `picture` (SVG,
of which `drawing` is the pen) and `cast` (asciicast) are the formats, `command` is /export.
"""
