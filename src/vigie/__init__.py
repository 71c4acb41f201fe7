"""vigie watches clusters of CPU and GPU machines that run AI work."""

__version__ = "0.1.0"


def report(**values):  # type: ignore[no-untyped-def]  # typing costs more to import than all the rest
    """Report numbers of this process, such as loss, step and step_seconds, to the agent of this node.

    It never blocks and never fails. Without an agent, nothing happens. See docs/how-to/report.md.
    """
    from vigie import _report  # not before it is used: importing vigie costs next to nothing

    _report.REPORTER.report(values)
