"""The continuous audit of failover readiness, in a process of its own beside the service.

orders    the settings of the process
__main__  the process
rounds    audits every flow again and again
answers   what the process answers about the last audit
series    its series as text
watch     the service's side: runs the process and polls its answers
"""
