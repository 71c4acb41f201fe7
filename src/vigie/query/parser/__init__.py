"""From the text of a query to its tree, with errors that say where."""
