/* How long a call keeps the driver, in microseconds: measured by others where a source is named,
   and assumed for the rest. */
#include "simulated.h"

#include <string.h>

#define ASSUMED 20.0

static const struct {
    const char *function;
    double microseconds;
} table[] = {
    {"nvmlDeviceGetUtilizationRates", 2.5},          /* MangoHud 2104, measured */
    {"nvmlDeviceGetFanSpeed_v2", 137},               /* MangoHud 2104, measured */
    {"nvmlDeviceGetFanSpeed", 137},                  /* MangoHud 2104, measured */
    {"nvmlDeviceGetComputeRunningProcesses_v3", 4500}, /* MangoHud 2104, measured */
    {"nvmlDeviceGetComputeRunningProcesses_v2", 4500},
    {"nvmlDeviceGetComputeRunningProcesses", 4500},
    {"nvmlDeviceGetPcieThroughput", 20000},          /* nvml.h: it samples for 20 ms */
    {"nvmlDeviceGetFieldValues", 100},               /* assumed: some fields ask the GPU */
    {"nvmlGpmSampleGet", 500},                       /* assumed */
    {"nvmlGpmMigSampleGet", 500},                    /* assumed */
    {"nvmlInit_v2", 50000},                          /* assumed */
    {"nvmlEventSetWait_v2", 2.5},                    /* assumed: nothing is asked of the GPU */
};

double latency_of(const char *function)
{
    size_t i;
    for (i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].function, function)) return table[i].microseconds / 1e6;
    return ASSUMED / 1e6;
}
