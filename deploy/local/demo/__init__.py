"""The demo: two real clusters, a real mirror, traffic, the service, and one thing after another going wrong.

python -m deploy.local.demo [--dir DIR] [--every S] [--script NAME,NAME] [--seconds N]

stack       starts and stops all the processes, Prometheus and Alertmanager among them
readers     applications that read in consumer groups
service     the service's configuration and what its API says
keys        what a person types, key by key or line by line
show        the rounds: break, watch, end, watch
"""
