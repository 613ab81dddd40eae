"""`mirrorwatch check`: the configuration explained, the clusters asked, permissions and cost.

check            `mirrorwatch check`
clusters         what `check` asks each cluster
configured       what `check` writes of the configuration as it was read
cost             what the canary costs
cost_text        what `check` writes about the canary
document         the document of `check --json`
hops             where the canary's topics travel beyond the first hop
mirrored         which topics of a source a flow mirrors and which not, grouped by rule
mirrored_text    what `check` writes about the topics of each flow
no_canary        which flows have no canary, and what an operator does about it
rights           the rights that `run` needs on each cluster
rights_checksum  the rights that the checksum needs on the topics that it compares
rights_lag       the rights that the lag monitor needs, and those that it does without
rights_text      what `check` writes about permissions
sheet            the sheet that `check` writes
topics           what is wrong with the topics of ours that are there already
"""
