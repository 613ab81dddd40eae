"""Documents about flows: verdicts, partitions, findings, events.

flows     answers of the ingest process about flows
rows      a flow as documents
pages     the partitions of one flow, a page at a time, the worst first
facts     facts of a flow in addition to its verdict
findings  records that are lost or altered, by partition
events    events of a flow
orders    a flow as an order to the ingest process
"""
