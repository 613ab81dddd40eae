"""From evidence to a verdict: the vocabulary, the rules, and their sentences.

vocabulary         verdicts and causes, each declared once for page, API, series, alert and log
page               the reference of causes as Markdown
evidence           what the parts hand in about a flow before it is judged
checksum_evidence  what audits (the checksum) hand in about a flow before it is judged
flow               a flow, one source mirrored to one target, and what becomes of each topic on it
judgement          the one function that decides how a flow is and why, from evidence alone
words              a judgement, and the words and rows of evidence that every rule writes it with
nameless           altered copies that cannot be matched to their probe
checksum           the rules about what audits have found
content            the rules about what came and what did not
delay              the rules about what is on its way
heartbeats         whether a mirror runs although nothing comes
joined             each rule with all its kinds of evidence
offset_findings    the rules about what offsets, topic ids and settings have proved
offsets            the rules about what offsets show of this moment
quiet              the rules where nothing is wrong, or nothing is known
standstill         why a flow stands
"""
