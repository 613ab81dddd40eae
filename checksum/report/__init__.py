"""The report of a run: a document, and a page of HTML.

page             the page of a run
facts            what a run knows of each partition at each time, for the picture of its page
lists            the lists of a run's page
markup           pieces of HTML for a run's page, by the house's style sheet
picture          the picture of a run's page
reading          a run's document as its page reads it
svg              the picture of a run's page as SVG beside the names of its rows
result_document  what an audit found as plain values, for `--json` and for other programs
document_values  values of a JSON document that came from outside
"""
