"""The report of a run: a document, and an HTML page.

result_document  a result as plain values, for `--json` and for other programs
document_values  values of an untrusted JSON document
parsed_runs      the runs of a document, with the keys and types that the page needs
page             the HTML page of one or several runs
lists            the lists of the page
timeline         what is known of each partition at each time
svg              the timeline as SVG
markup           HTML elements of the page
"""
