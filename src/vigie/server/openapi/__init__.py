"""The OpenAPI document: made from the routes, the table of roles, and one declaration for each path."""
