/* Who computes: `0 process.N PID BYTES [INSTANCE COMPUTE]`; and how much: `0 process.use.N PID TIME SM MEMORY`. */
#include "simulated.h"

#include <stdio.h>

static nvmlReturn_t list(const char *who, unsigned *count, nvmlProcessInfo_v2_t *two, nvmlProcessInfo_v1_t *one)
{
    char field[32], text[160];
    unsigned room = *count, there = 0;
    for (; there < 1024; there++) {
        nvmlProcessInfo_v2_t each = {0, 0, NO_INSTANCE, NO_INSTANCE};
        snprintf(field, sizeof field, "process.%u", there);
        if (!text_of(who, field, text, sizeof text)) break;
        sscanf(text, "%u %llu %u %u", &each.pid, &each.usedGpuMemory, &each.gpuInstanceId, &each.computeInstanceId);
        if (there < room && two) two[there] = each;
        if (there < room && one) {
            one[there].pid = each.pid;
            one[there].usedGpuMemory = each.usedGpuMemory;
        }
    }
    *count = there;
    return there > room ? INSUFFICIENT_SIZE : SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_v2_t *out)
{
    ON(device);
    return list(who, count, out, NULL);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_v2_t *out)
{
    ON(device);
    return list(who, count, out, NULL);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_v1_t *out)
{
    ON(device);
    return list(who, count, NULL, out);
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *out,
                                             unsigned *count, unsigned long long since)
{
    char field[32], text[160];
    unsigned room = *count, next, there = 0;
    ON(device);
    for (next = 0; next < 1024; next++) {
        nvmlProcessUtilizationSample_t each = {0};
        snprintf(field, sizeof field, "process.use.%u", next);
        if (!text_of(who, field, text, sizeof text)) break;
        sscanf(text, "%u %llu %u %u", &each.pid, &each.timeStamp, &each.smUtil, &each.memUtil);
        if (each.timeStamp <= since) continue;
        if (there < room && out) out[there] = each;
        there++;
    }
    *count = there;
    if (there > room || !out) return INSUFFICIENT_SIZE;
    return there ? SUCCESS : NOT_FOUND;
}
