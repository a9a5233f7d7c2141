"""From findings to what people read. `answer` puts findings and sentences (`words`) together; `text` (a terminal),
`html` (a page) and `charts` are views of it, `tables` are for other programs. Only front ends import this package.
"""
