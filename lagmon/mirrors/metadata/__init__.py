"""Topics of a flow on both sides: names, ids, settings.

topics     the topics of one flow on both sides, and what is missing
settings   what the settings of these topics are on both sides
ids        ask a cluster for the ids and settings of the topics that flows read and write there
id_rounds  how often the ids of topics are asked for, and for how long one is waited for
"""
