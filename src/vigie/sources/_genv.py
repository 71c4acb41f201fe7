"""The metrics of genv: environments, the GPUs attached to them, and their users; all are gauges."""

from __future__ import annotations

from vigie.model import gauge

METRICS = (
    INSTALLED := gauge("genv_is_installed", "1 if genv is installed on the node."),
    TEMPERATURE := gauge("genv_device_temperature", "Temperature of the GPU in degrees Celsius.", "index"),
    UTILIZATION := gauge("genv_device_utilization", "Percent of time in which the GPU was busy.", "index"),
    MEMORY_USED := gauge("genv_device_memory_used_bytes", "Memory of the GPU that is taken.", "index"),
    MEMORY_TOTAL := gauge("genv_device_memory_total_bytes", "Memory that the GPU has.", "index"),
    ENVIRONMENTS := gauge("genv_environments_total", "Environments on the node."),
    PROCESSES := gauge("genv_processes_total", "Processes that use a GPU, in an environment or not."),
    ATTACHED := gauge("genv_attached_devices_total", "GPUs that are attached to an environment."),
    USERS := gauge("genv_users_total", "Users who have an environment."),
    ENVIRONMENT_PROCESSES := gauge(
        "genv_environment_processes_total", "Processes of the environment that use a GPU.", "eid"
    ),
    ENVIRONMENT_ATTACHED := gauge(
        "genv_environment_attached_devices_total", "GPUs that are attached to the environment.", "eid"
    ),
    PROCESS_DEVICES := gauge("genv_process_devices_total", "GPUs that the process uses.", "pid", "eid"),
    PROCESS_MEMORY := gauge(
        "genv_process_used_gpu_memory_bytes",
        "Memory of the GPU that the process has taken.",
        "pid",
        "eid",
        "device",
    ),
    USER_ENVIRONMENTS := gauge("genv_user_environments_total", "Environments of the user.", "username"),
    USER_PROCESSES := gauge(
        "genv_user_processes_total", "Processes of the user's environments that use a GPU.", "username"
    ),
    USER_ATTACHED := gauge(
        "genv_user_attached_devices_total", "GPUs that are attached to the user's environments.", "username"
    ),
)
