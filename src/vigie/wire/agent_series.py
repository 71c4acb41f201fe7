"""The agents' own metrics: an agent fills them, a server describes them."""

from __future__ import annotations

from vigie.model import counter, gauge, info

# The first two have node exporter's names, which its dashboards use.
SOURCE_METRICS = (
    gauge("node_scrape_collector_duration_seconds", "Duration of the last read of a source.", "collector"),
    gauge("node_scrape_collector_success", "1 if the last read of a source returned samples.", "collector"),
    SOURCE_AGE := gauge(
        "vigie_agent_source_age_seconds",
        "Age of the data of a slow source, which scrapes do not read.",
        "source",
    ),
)
AGENT_METRICS = (
    info("vigie_agent_build_info", "Version of the agent and of Python.", "version", "python"),
    counter("vigie_agent_scrapes_total", "Scrapes served since the agent started."),
    counter("vigie_agent_frames_total", "Frames built since the agent started."),
    counter("vigie_agent_read_seconds_total", "Time spent reading sources."),
    counter("vigie_agent_read_errors_total", "Reads that failed or exceeded their deadline."),
    gauge("vigie_agent_series", "Series at the last read of each source."),
)
OUTCOME_METRICS = (
    SOURCE_STATE := info(
        "vigie_agent_source_info",
        "1 while a source has no data, with state (unavailable, error, hung) and reason.",
        "source",
        "state",
        "reason",
    ),
)
EXPORTED = "bindings"  # the table in which an agent exports the bindings of its node
BINDING_METRICS = (
    HOLDER := info(
        "vigie_holder_info",
        "1 while a resource is allocated. Join on instance and gpu.",
        "gpu",
        "resource",
        "kind",
        "holder",
        "user",
    ),
)
EVENT_METRICS = (
    EVENTS := counter("vigie_agent_events_total", "Events since the agent started, by kind.", "kind"),
    XIDS := counter(
        "vigie_xid_errors_total",
        "XID errors since the agent started.",
        *("pci_bus_id", "xid"),
    ),
)
LINK_METRICS = (
    gauge("vigie_agent_link_connected", "1 while connected to the server.", "server"),
    counter(
        "vigie_agent_link_connections_total", "Connections to the server since the agent started.", "server"
    ),
    counter("vigie_agent_link_sent_total", "Frames and events sent, including those sent again.", "server"),
    counter("vigie_agent_link_acknowledged_total", "Frames and events that the server has synced.", "server"),
    counter("vigie_agent_link_refused_total", "Frames and events that the server rejected.", "server"),
    counter(
        "vigie_agent_link_dropped_total", "Frames and events dropped because the buffer was full.", "server"
    ),
    gauge("vigie_agent_link_waiting_bytes", "Memory used by unacknowledged frames and events.", "server"),
    gauge("vigie_agent_link_waiting_disk_bytes", "Disk space used by buffered frames and events.", "server"),
)
PORT = "port"  # label that distinguishes several inference servers of a kind on one node
EXPORTER_METRICS = (
    gauge("up", "1 if the exporter could be read, 0 otherwise."),
    gauge("scrape_duration_seconds", "Duration of reading the exporter."),
    gauge("scrape_samples_scraped", "Samples read from the exporter."),
)
RELAY_METRICS = (
    INFERENCE_SERVER := info(
        "vigie_inference_server_info",
        "1 per GPU of an inference server on the node. Join on instance, job and port.",
        *(PORT, "pid", "gpu"),
    ),
)
REPORT_METRICS = (
    REPORTED := gauge(
        "vigie_report_value",
        "Last value that a process reported with vigie.report, by its name.",
        *("measure", "rank", "gpu", "pid", "job_id", "user"),
    ),
    REPORTS_RECEIVED := counter("vigie_agent_reports_received_total", "Reports accepted."),
    REPORTS_REFUSED := counter("vigie_agent_reports_refused_total", "Reports rejected."),
)
METRICS = (
    *(*SOURCE_METRICS, *AGENT_METRICS, *OUTCOME_METRICS, *BINDING_METRICS, *EVENT_METRICS),
    *(*LINK_METRICS, *RELAY_METRICS, *REPORT_METRICS),
)
