/* Events: each line `0 xid 79 @12` happens once, when its time has come. */
#include "simulated.h"

#include <stdio.h>
#include <stdlib.h>

struct nvmlEventSet_st {
    int listening[MOST_GPUS], told[MOST_GPUS];
};
typedef struct nvmlEventSet_st *nvmlEventSet_t;

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    ON_SYSTEM();
    *set = calloc(1, sizeof **set);
    return SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    free(set);
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
    ON(device);
    *types = XID_EVENT;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
    char text[160];
    ON(device);
    if (!(types & XID_EVENT)) return NOT_SUPPORTED;
    set->listening[device->gpu] = 1;
    while (nth_text_of(who, "xid", set->told[device->gpu], text, sizeof text)) set->told[device->gpu]++;
    return SUCCESS;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *out, unsigned milliseconds)
{
    char who[16], text[160];
    double failure;
    int gpu;
    (void)milliseconds; /* nobody waits here: there is one, or there is none */
    ON_SYSTEM();
    for (gpu = 0; gpu < MOST_GPUS; gpu++) {
        snprintf(who, sizeof who, "%d", gpu);
        if (!set->listening[gpu] || !nth_text_of(who, "xid", set->told[gpu], text, sizeof text)) continue;
        set->told[gpu]++;
        out->eventType = XID_EVENT;
        out->eventData = (unsigned long long)atoll(text);
        out->gpuInstanceId = out->computeInstanceId = NO_INSTANCE;
        return handle_of(gpu, -1, &out->device);
    }
    return number_of(SYSTEM, "error.no_event", &failure) ? (nvmlReturn_t)failure : TIMEOUT;
}
