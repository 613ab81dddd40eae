"""Objectives, alerting rules, incidents and reports.

config           the sections `objectives` and `links`
objectives/      objectives of flows, their error budgets and burn rates
incidents/       incidents and history
incident_tables  their tables
minutes/         measured minutes and exclusions in the store
rehearsals/      rehearsed failovers in the store
reports/         reports on objectives over a period
rules/           Prometheus rules
runbooks/        what each alert and cause means, and what to do
page             writes docs/reference/alerts.md
routing          Alertmanager's configuration: routes and inhibition
"""
