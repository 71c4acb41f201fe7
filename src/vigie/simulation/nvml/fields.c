/* Field values: many numbers in one call, each with its own fate. */
#include "simulated.h"

#include <stdio.h>

#define UNSIGNED_LONG_LONG 3

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    char field[48];
    double at = simulated_time(), failure, type;
    int i;
    ON(device);
    for (i = 0; i < count; i++) {
        nvmlFieldValue_t *each = &values[i];
        snprintf(field, sizeof field, "type.%u", each->fieldId);
        each->valueType = there_is("type") && number_of(who, field, &type) ? (int)type : UNSIGNED_LONG_LONG;
        each->timestamp = 1700000000000000LL + (long long)(at * 1e6);
        each->latencyUsec = 10;
        snprintf(field, sizeof field, "error.field.%u", each->fieldId);
        if (there_is("error") && number_of(who, field, &failure)) {
            each->nvmlReturn = (nvmlReturn_t)failure;
            continue;
        }
        snprintf(field, sizeof field, "field.%u", each->fieldId);
        if (each->scopeId && each->scopeId != EVERY_LINK)
            snprintf(field, sizeof field, "field.%u.%u", each->fieldId, each->scopeId);
        else if ((each->fieldId == 138 || each->fieldId == 139) && each->scopeId == 0)
            snprintf(field, sizeof field, "field.%u.0", each->fieldId);
        each->nvmlReturn = long_number(who, field, &each->value.ullVal);
    }
    return SUCCESS;
}
