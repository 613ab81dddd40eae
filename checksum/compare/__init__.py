"""Two digests compared: findings, their causes, and the result of an audit.

audit          what one audit of a flow comes to
causes         what is behind a finding, of the one list of causes, where the evidence names one
comparison     two digests of one plan -> what they say by themselves, before any record is read again
decode         cells that differ between two digests, and the single records that they give away
findings       what an audit says of records, and what has to be read again before it can say anything
finding_words  one sentence for each finding
joining        what is known of single partitions -> what is known of a flow
naming         single records and differing cells of two digests -> findings, and what must be read again
verdicts       findings of an audit -> its result
retention      what retention took while two sides were compared is no difference, but cannot be verified
latest_by_key  a compacted topic
"""
