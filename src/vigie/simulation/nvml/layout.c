/* How large the structures are, for the test that compares them with layouts.txt. */
#include "abi.h"

#include <string.h>

#define SIZE(type) {#type, sizeof(type)}

static const struct {
    const char *name;
    size_t size;
} sizes[] = {
    SIZE(nvmlMemory_t),           SIZE(nvmlMemory_v2_t),        SIZE(nvmlUtilization_t),
    SIZE(nvmlPciInfo_t),          SIZE(nvmlValue_t),            SIZE(nvmlFieldValue_t),
    SIZE(nvmlProcessInfo_v1_t),   SIZE(nvmlProcessInfo_v2_t),   SIZE(nvmlEventData_t),
    SIZE(nvmlGpuFabricInfo_t),    SIZE(nvmlGpuFabricInfo_v2_t), SIZE(nvmlGpmMetric_t),
    SIZE(nvmlGpmMetricsGet_t),    SIZE(nvmlGpmSupport_t),       SIZE(nvmlGridLicensableFeatures_t),
    SIZE(nvmlProcessUtilizationSample_t),
};

unsigned long simulated_size_of(const char *name)
{
    size_t i;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!strcmp(sizes[i].name, name)) return sizes[i].size;
    return 0;
}
