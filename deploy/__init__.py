"""What surrounds the product: the local stack, and the files that install it elsewhere."""
