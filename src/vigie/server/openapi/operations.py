"""What every route takes and answers: the one table that the document, its page and its tests are made from.

By path as the routes spell it, like the table of roles; a row with a method goes before one without. A route
that is sent by POST and has no body of its own takes its parameters as a form.
"""

from __future__ import annotations

from vigie.server.openapi import of_cluster, of_pages, of_prometheus, of_server

OPERATIONS = {
    **of_prometheus.OPERATIONS,
    **of_cluster.OPERATIONS,
    **of_pages.OPERATIONS,
    **of_server.OPERATIONS,
}
