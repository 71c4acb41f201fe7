"""Metrics of genv: environments, attached GPUs and users. All are gauges."""

from __future__ import annotations

from vigie.model import gauge

METRICS = (
    INSTALLED := gauge("genv_is_installed", "1 if genv is installed on the node."),
    TEMPERATURE := gauge("genv_device_temperature", "GPU temperature in degrees Celsius.", "index"),
    UTILIZATION := gauge("genv_device_utilization", "GPU utilization in percent.", "index"),
    MEMORY_USED := gauge("genv_device_memory_used_bytes", "Used GPU memory.", "index"),
    MEMORY_TOTAL := gauge("genv_device_memory_total_bytes", "Total GPU memory.", "index"),
    ENVIRONMENTS := gauge("genv_environments_total", "Environments on the node."),
    PROCESSES := gauge("genv_processes_total", "Processes that use a GPU, inside environments or not."),
    ATTACHED := gauge("genv_attached_devices_total", "GPUs attached to an environment."),
    USERS := gauge("genv_users_total", "Users with an environment."),
    ENVIRONMENT_PROCESSES := gauge(
        "genv_environment_processes_total", "Processes of the environment that use a GPU.", "eid"
    ),
    ENVIRONMENT_ATTACHED := gauge(
        "genv_environment_attached_devices_total", "GPUs attached to the environment.", "eid"
    ),
    PROCESS_DEVICES := gauge("genv_process_devices_total", "GPUs used by the process.", "pid", "eid"),
    PROCESS_MEMORY := gauge(
        "genv_process_used_gpu_memory_bytes",
        "GPU memory used by the process.",
        "pid",
        "eid",
        "device",
    ),
    USER_ENVIRONMENTS := gauge("genv_user_environments_total", "Environments of the user.", "username"),
    USER_PROCESSES := gauge(
        "genv_user_processes_total", "Processes of the user's environments that use a GPU.", "username"
    ),
    USER_ATTACHED := gauge(
        "genv_user_attached_devices_total", "GPUs attached to the user's environments.", "username"
    ),
)
