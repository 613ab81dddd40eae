"""The report of a run: a document, and an HTML page.

result_document  a result as plain values, for `--json` and for other programs
document_values  values of an untrusted JSON document
reading          a document as the page reads it
page             the HTML page of one or several runs
lists            the lists of the page
facts            what is known of each partition at each time, for the picture
picture          the rows and columns of the picture
svg              the picture as SVG
markup           HTML elements of the page
"""
