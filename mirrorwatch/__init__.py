"""The composition root: command line, service, page and API. It wires everything and decides nothing."""
