/* Which GPUs there are, and which is which. */
#include "simulated.h"

#include <stdio.h>
#include <string.h>

static struct nvmlDevice_st devices[MOST_GPUS][MOST_MIG + 1];

static int gpus(void)
{
    double number = 0;
    number_of(SYSTEM, "count", &number);
    return number < MOST_GPUS ? (int)number : MOST_GPUS;
}

nvmlReturn_t handle_of(int gpu, int mig, nvmlDevice_t *out)
{
    if (!out || gpu < 0 || gpu >= gpus() || mig >= MOST_MIG) return INVALID_ARGUMENT;
    devices[gpu][mig + 1].gpu = gpu;
    devices[gpu][mig + 1].mig = mig;
    *out = &devices[gpu][mig + 1];
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count)
{
    ON_SYSTEM();
    *count = (unsigned)gpus();
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
    SPENDING;
    char who[16];
    nvmlReturn_t failed;
    snprintf(who, sizeof who, "%u", index);
    failed = begin_call(__func__, who, &spending_);
    return failed ? failed : handle_of((int)index, -1, device);
}

static nvmlReturn_t by_text(const char *field, const char *wanted, nvmlDevice_t *device)
{
    char who[16], text[160];
    int gpu;
    for (gpu = 0; gpu < gpus(); gpu++) {
        snprintf(who, sizeof who, "%d", gpu);
        if (text_of(who, field, text, sizeof text) && !strcmp(text, wanted)) return handle_of(gpu, -1, device);
    }
    return NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    ON_SYSTEM();
    return by_text("uuid", uuid, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pci, nvmlDevice_t *device)
{
    ON_SYSTEM();
    return by_text("pci", pci, device);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length)
{
    ON(device);
    return copy_text(who, "name", name, length);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length)
{
    ON(device);
    return copy_text(who, "uuid", uuid, length);
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned length)
{
    ON(device);
    return copy_text(who, "serial", serial, length);
}

nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *version, unsigned length)
{
    ON(device);
    return copy_text(who, "vbios", version, length);
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *minor)
{
    ON(device);
    return whole_number(who, "minor", minor);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    nvmlReturn_t failed;
    ON(device);
    memset(pci, 0, sizeof *pci);
    failed = copy_text(who, "pci", pci->busId, sizeof pci->busId);
    if (failed) return failed;
    sscanf(pci->busId, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%.15s", pci->busId + 4);
    return SUCCESS;
}
