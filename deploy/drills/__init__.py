"""Make each fault happen on real clusters and hold what the service says against what was done.

__main__              the command: `python -m deploy.drills`
drill                 one fault, and what the service has to say of it
catalogue             the drills with a canary
catalogue_offsets     the drills by offsets alone
catalogue_checksum    the drills of the checksum
runs                  run drills on one pair of clusters
settings              settings of the service under a drill
service               the service under a drill, in its own process
listening             what the service says, and when
truth                 what is true of the logs, read without the service
bringing_back         end a fault and wait until the flow is healthy
alerts                Prometheus and Alertmanager beside a drill
checksum_bench        run drills of the checksum
checksum_traces       what a checksum left behind
checksum_runs         ten checksums in a row of a healthy mirror
result                what came of one drill
ledger                what came of all, kept in a file
failovers             groups that fail over, and what was predicted: docs/reference/failovers.md
page                  docs/reference/drills.md
offsets_page          its part about offsets
checksum_page         its part about the checksum
"""
