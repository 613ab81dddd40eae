"""Files that are written whole, and folders that one command owns.

owned_folder  write a set of files into a folder that one command owns
whole_files   files that are written whole or not at all
"""
