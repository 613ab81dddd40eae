"""What is answered about flows: documents, findings, events.

flows     what the ingest process answers about flows
rows      a flow as documents
pages     the partitions of one flow, a page of them at a time, the worst first
facts     facts of a flow besides its verdict
findings  what offsets, topic ids and settings show to have been lost or changed, by partition
events    events of a flow
orders    a flow as an order to the ingest process
"""
