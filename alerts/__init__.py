"""From a verdict to the person who must act: objectives, alerting rules, incidents and reports.

config        the sections `objectives` and `links`
objectives/   what a flow has to deliver, and how fast its error budget may burn
incidents/    bad time of a flow as incidents, and its history; incident_tables keeps both in the store
minutes/      what was measured in each minute, and exclusions, in the store
rules/        Prometheus rules for it, and for everything else that operators must know
page          writes docs/reference/alerts.md from the rules
routing       who gets which alert, and which mutes which: Alertmanager's configuration
"""
