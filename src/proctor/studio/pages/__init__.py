"""One module for each group of pages: from a request to a view, from a form to a call of the desk."""
