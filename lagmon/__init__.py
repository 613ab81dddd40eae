"""Groups and mirrors judged from offsets: who moves, how far behind, and what retention will take."""
