/* NVLink, and the fabric that it makes. */
#include "simulated.h"

#include <stdio.h>
#include <string.h>

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, unsigned *active)
{
    char field[32];
    double links = 0;
    ON(device);
    number_of(who, "links", &links);
    if (!links) return NOT_SUPPORTED;
    if (link >= (unsigned)links) return INVALID_ARGUMENT;
    snprintf(field, sizeof field, "link.%u.absent", link);
    if (text_of(who, field, field, sizeof field)) return NOT_SUPPORTED;
    snprintf(field, sizeof field, "link.%u.down", link);
    *active = !text_of(who, field, field, sizeof field);
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned link, int counter,
                                             unsigned long long *value)
{
    char field[32];
    double links = 0;
    ON(device);
    number_of(who, "links", &links);
    if (link >= (unsigned)links) return links ? INVALID_ARGUMENT : NOT_SUPPORTED;
    snprintf(field, sizeof field, "link.%u.error.%d", link, counter);
    if (long_number(who, field, value)) return long_number(who, "link.error", value);
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *out)
{
    unsigned state;
    nvmlReturn_t failed;
    ON(device);
    failed = whole_number(who, "fabric.state", &state);
    if (failed) return failed;
    memset(out, 0, sizeof *out);
    out->state = (unsigned char)state;
    return whole_number(who, "fabric.status", (unsigned *)&out->status);
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfo_v2_t *out)
{
    unsigned state;
    nvmlReturn_t failed;
    ON(device);
    if (out->version != VERSION(nvmlGpuFabricInfo_v2_t, 2)) return VERSION_MISMATCH;
    failed = whole_number(who, "fabric.state", &state);
    if (failed) return failed;
    out->state = (unsigned char)state;
    whole_number(who, "fabric.health", &out->healthMask);
    return whole_number(who, "fabric.status", (unsigned *)&out->status);
}
