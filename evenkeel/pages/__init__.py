"""Pages of HTML that need nothing beside them, and the drawings in them."""
