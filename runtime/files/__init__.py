"""Files that are written atomically, and folders that one command owns.

whole_files   files that are written whole or not at all
owned_folder  a set of files in a folder that one command owns
"""
