"""Topics of a flow on both sides: names, ids, settings.

topics    the topics of one flow on both sides, what is missing, and how long an id is awaited
settings  the settings of these topics on both sides
ids       read the ids and settings of the topics that flows use on one cluster
"""
