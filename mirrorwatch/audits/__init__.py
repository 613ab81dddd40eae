"""What the service knows of checksum runs: those in the store, and those that are posted to it.

following  the runs of the checksum as the service knows them
late       runs of which the store knows what they found, and not all that should
standing   what the runs of a flow's checksum come to
told       the document of a finished run, read and checked
shown      how a flow stands by its checksums, for page, API and table
series     series of checksums
"""
