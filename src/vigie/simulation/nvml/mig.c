/* A GPU in parts: `0 mig.mode 1`, and for each part lines of `0/SLOT`. */
#include "simulated.h"

#include <stdio.h>

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending)
{
    nvmlReturn_t failed;
    ON(device);
    failed = whole_number(who, "mig.mode", current);
    if (!failed && whole_number(who, "mig.pending", pending)) *pending = *current;
    return failed;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *count)
{
    unsigned mode;
    ON(device);
    *count = whole_number(who, "mig.mode", &mode) ? 0 : 7;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t *out)
{
    char part[24], text[160];
    ON(device);
    if (index >= MOST_MIG) return INVALID_ARGUMENT;
    snprintf(part, sizeof part, "%s/%u", who, index);
    if (!text_of(part, "uuid", text, sizeof text)) return NOT_FOUND;
    return handle_of(device->gpu, (int)index, out);
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t part, nvmlDevice_t *out)
{
    ON(part);
    return handle_of(part->gpu, -1, out);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned *id)
{
    ON(device);
    return whole_number(who, "instance", id);
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned *id)
{
    ON(device);
    return whole_number(who, "compute", id);
}
