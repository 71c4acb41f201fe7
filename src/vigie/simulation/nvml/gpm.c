/* Profiling counters: two samples, and what was between them. `0 gpm.2 75.5` is metric 2. */
#include "simulated.h"

#include <stdio.h>
#include <stdlib.h>

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *out)
{
    double number;
    ON(device);
    if (out->version != 1) return VERSION_MISMATCH;
    out->isSupportedDevice = (unsigned)number_of(who, "gpm.supported", &number);
    return SUCCESS;
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *out)
{
    ON_SYSTEM();
    *out = calloc(1, sizeof **out);
    return SUCCESS;
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
    free(sample);
    return SUCCESS;
}

static nvmlReturn_t take(const char *who, nvmlGpmSample_t sample)
{
    double number;
    if (!number_of(who, "gpm.supported", &number)) return NOT_SUPPORTED;
    sample->at = simulated_time();
    snprintf(sample->who, sizeof sample->who, "%s", who);
    return SUCCESS;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample)
{
    ON(device);
    return take(who, sample);
}

nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned instance, nvmlGpmSample_t sample)
{
    char part[24];
    double id;
    int slot;
    ON(device);
    for (slot = 0; slot < MOST_MIG; slot++) {
        snprintf(part, sizeof part, "%s/%d", who, slot);
        if (number_of(part, "instance", &id) && (unsigned)id == instance) return take(part, sample);
    }
    return NOT_FOUND;
}

nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *get)
{
    char field[24];
    double number;
    unsigned i;
    ON_SYSTEM();
    if (get->version != 1) return VERSION_MISMATCH;
    if (!get->sample1 || !get->sample2 || get->numMetrics > GPM_METRICS) return INVALID_ARGUMENT;
    for (i = 0; i < get->numMetrics; i++) {
        nvmlGpmMetric_t *each = &get->metrics[i];
        snprintf(field, sizeof field, "gpm.%u", each->metricId);
        each->nvmlReturn = number_of(get->sample2->who, field, &number) ? SUCCESS : NOT_SUPPORTED;
        each->value = average_of(get->sample2->who, field, get->sample1->at, get->sample2->at);
    }
    return SUCCESS;
}
