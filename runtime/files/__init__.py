"""Files that are written atomically, and folders that one command owns.

whole_files   files that are written whole or not at all
scratch       temporary folders that the next process removes
owned_folder  a set of files in a folder that one command owns
"""
