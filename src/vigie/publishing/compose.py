"""A compose file that runs Prometheus and Grafana on what is published, as whoever published it."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from vigie.common.yaml_writer import write_yaml
from vigie.publishing.options import PublishOptions
from vigie.views.grafana.provisioning import NOTE

HOW = "docker compose up -d"
FOLDERS = ("prometheus/data", "grafana/data")  # made here, so that they belong to the user of the containers


def compose(options: PublishOptions) -> str:
    """Return compose.yml; paths are the same inside and outside, so that every file fits both."""
    listens = urlsplit(options.prometheus).netloc
    config = f"{options.root}/prometheus"
    prometheus = [
        f"--config.file={config}/prometheus.yml",
        f"--storage.tsdb.path={config}/data",
        f"--web.listen-address={listens}",
        "--web.enable-lifecycle",
    ]
    services = {
        "prometheus": _service(options, options.prometheus_image, "prometheus/data")
        | {"command": prometheus},
        "grafana": _service(options, options.grafana_image, "grafana/data")
        | {"environment": _paths(options)},
    }
    return write_yaml({"services": services}, f"{NOTE}\nTo run it: {HOW}")


def _paths(options: PublishOptions) -> dict[str, str]:
    """Return the paths once more: the image sets these variables, and they win over grafana.ini."""
    root = f"{options.root}/grafana"
    return {
        "GF_PATHS_CONFIG": f"{root}/grafana.ini",
        "GF_PATHS_DATA": f"{root}/data",
        "GF_PATHS_LOGS": f"{root}/data/log",
        "GF_PATHS_PLUGINS": f"{root}/data/plugins",
        "GF_PATHS_PROVISIONING": f"{root}/provisioning",
    }


def _service(options: PublishOptions, image: str, data: str) -> dict[str, Any]:
    mounts = [f"{options.root}:{options.root}:ro", f"{options.root}/{data}:{options.root}/{data}"]
    if options.ca_file:
        mounts.append(f"{options.ca_file}:{options.ca_file}:ro")
    return {
        "image": image,
        # Secrets are readable by their owner alone.
        "user": f"{os.getuid()}:{os.getgid()}",
        # A server and agents on this machine's loopback are found there.
        "network_mode": "host",
        "restart": "unless-stopped",
        "volumes": mounts,
    }
