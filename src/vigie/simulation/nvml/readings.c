/* What a GPU tells of itself in one number a call. */
#include "simulated.h"

#include <stdio.h>
#include <string.h>

#define NUMBER(function, field)                                                       \
    nvmlReturn_t function(nvmlDevice_t device, unsigned *out)                         \
    {                                                                                 \
        ON(device);                                                                   \
        return whole_number(who, field, out);                                         \
    }
#define LONG(function, field)                                                         \
    nvmlReturn_t function(nvmlDevice_t device, unsigned long long *out)               \
    {                                                                                 \
        ON(device);                                                                   \
        return long_number(who, field, out);                                          \
    }
/* A number by kind: the second argument chooses among the named fields. */
#define CHOICE(function, ...)                                                         \
    nvmlReturn_t function(nvmlDevice_t device, int kind, unsigned *out)               \
    {                                                                                 \
        static const char *const fields[] = {__VA_ARGS__};                            \
        ON(device);                                                                   \
        if (kind < 0 || kind >= (int)(sizeof fields / sizeof *fields)) return INVALID_ARGUMENT; \
        return whole_number(who, fields[kind], out);                                  \
    }

NUMBER(nvmlDeviceGetPowerUsage, "power.usage")
NUMBER(nvmlDeviceGetPowerManagementLimit, "power.limit")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power.enforced")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie.gen")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie.width")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie.gen.max")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie.width.max")
NUMBER(nvmlDeviceGetPcieReplayCounter, "pcie.replay")
NUMBER(nvmlDeviceGetFanSpeed, "fan.0")
NUMBER(nvmlDeviceGetPerformanceState, "pstate")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "retired.pending")
LONG(nvmlDeviceGetTotalEnergyConsumption, "field.83")
LONG(nvmlDeviceGetCurrentClocksEventReasons, "reasons")
LONG(nvmlDeviceGetCurrentClocksThrottleReasons, "reasons")
CHOICE(nvmlDeviceGetTemperature, "temperature.gpu")
CHOICE(nvmlDeviceGetTemperatureThreshold, "threshold.shutdown", "threshold.slowdown", "threshold.memory",
       "threshold.gpu")
CHOICE(nvmlDeviceGetClockInfo, "clock.graphics", "clock.sm", "clock.mem", "clock.video")
CHOICE(nvmlDeviceGetMaxClockInfo, "clock.max.graphics", "clock.max.sm", "clock.max.mem", "clock.max.video")
CHOICE(nvmlDeviceGetPcieThroughput, "pcie.tx", "pcie.rx")

nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned *least, unsigned *most)
{
    nvmlReturn_t failed;
    ON(device);
    failed = whole_number(who, "power.min", least);
    return failed ? failed : whole_number(who, "power.max", most);
}

nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned fan, unsigned *speed)
{
    char field[16];
    ON(device);
    snprintf(field, sizeof field, "fan.%u", fan);
    return whole_number(who, field, speed);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *out)
{
    nvmlReturn_t failed;
    ON(device);
    failed = whole_number(who, "utilization.gpu", &out->gpu);
    return failed ? failed : whole_number(who, "utilization.memory", &out->memory);
}

static nvmlReturn_t over_a_while(const char *who, const char *field, unsigned *percent, unsigned *microseconds)
{
    *microseconds = 166666;
    return whole_number(who, field, percent);
}

nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned *percent, unsigned *microseconds)
{
    ON(device);
    return over_a_while(who, "encoder", percent, microseconds);
}

nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned *percent, unsigned *microseconds)
{
    ON(device);
    return over_a_while(who, "decoder", percent, microseconds);
}

nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, int cause, unsigned *count, unsigned long long *pages)
{
    unsigned there = 0, room = *count;
    nvmlReturn_t failed;
    ON(device);
    failed = whole_number(who, cause ? "retired.dbe" : "retired.sbe", &there);
    if (failed) return failed;
    *count = there;
    if (there > room) return INSUFFICIENT_SIZE;
    if (there) memset(pages, 0, there * sizeof *pages);
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *corrected, unsigned *uncorrected,
                                       unsigned *pending, unsigned *failure)
{
    nvmlReturn_t failed;
    ON(device);
    failed = whole_number(who, "field.142", corrected);
    if (!failed) failed = whole_number(who, "field.143", uncorrected);
    if (!failed) failed = whole_number(who, "field.144", pending);
    return failed ? failed : whole_number(who, "field.145", failure);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int error, int since, unsigned long long *out)
{
    char field[16];
    ON(device);
    snprintf(field, sizeof field, "field.%d", 3 + error + 2 * since);
    return long_number(who, field, out);
}

nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device, nvmlGridLicensableFeatures_t *out)
{
    unsigned licensed;
    nvmlReturn_t failed;
    ON(device);
    failed = whole_number(who, "licensed", &licensed);
    if (failed) return failed;
    memset(out, 0, sizeof *out);
    out->isGridLicenseSupported = out->licensableFeaturesCount = licensed != 0;
    out->gridLicensableFeatures[0].featureState = licensed;
    return SUCCESS;
}
