/* Memory: of old drivers without, of new ones with what the driver keeps for itself. */
#include "simulated.h"

static nvmlReturn_t amounts(const char *who, unsigned long long *total, unsigned long long *reserved,
                            unsigned long long *used)
{
    nvmlReturn_t failed = long_number(who, "memory.total", total);
    if (!failed) failed = long_number(who, "memory.reserved", reserved);
    return failed ? failed : long_number(who, "memory.used", used);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *out)
{
    unsigned long long reserved = 0;
    nvmlReturn_t failed;
    ON(device);
    failed = amounts(who, &out->total, &reserved, &out->used);
    if (failed) return failed;
    out->used += reserved; /* as the old call counts */
    out->free = out->total - out->used;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *out)
{
    nvmlReturn_t failed;
    ON(device);
    if (out->version != VERSION(nvmlMemory_v2_t, 2)) return VERSION_MISMATCH;
    failed = amounts(who, &out->total, &out->reserved, &out->used);
    if (failed) return failed;
    out->free = out->total - out->reserved - out->used;
    return SUCCESS;
}
