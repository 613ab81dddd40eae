"""From evidence to a verdict: the vocabulary, the rules, and their sentences.

vocabulary         verdicts and causes, each declared once for page, API, series, alert and log
page               the reference of causes as Markdown
evidence           the evidence of canary and offsets about a flow
checksum_evidence  the evidence of the checksum about a flow
flow               a flow, and whether it replicates a topic
judgement          the function that decides the verdict of a flow from evidence alone
words              a judgement, and sentences and rows of evidence that several rules use
nameless           altered copies that cannot be matched to their probe
checksum           rules: records that a checksum found lost, altered or repeated
content            rules: canary records that were lost, altered or repeated
delay              rules: canary records that are stalled or late
heartbeats         whether heartbeats show that a stalled mirror runs
joined             each rule for all kinds of evidence
offset_findings    rules: records that offsets, topic IDs and settings prove lost, altered or repeated
offsets            rules: the current state of a flow by its offsets
quiet              rules: unknown and healthy
standstill         the cause of a stall
"""
