/* Watches, what they saw last, and the pause that holds for every client. */
#include "engine.h"

#include <stdio.h>
#include <string.h>

dcgmReturn_t dcgmWatchFields(dcgmHandle_t handle, dcgmGpuGrp_t gpus, dcgmFieldGrp_t fields, long long every,
                             double age, int samples)
{
    char text[64];
    double most, failure;
    BEGIN();
    if (!client_of(handle)) return CONNECTION_NOT_VALID;
    if (!gpus_of(handle, gpus) || !fields_of(handle, fields)) return NOT_CONFIGURED;
    if (every <= 0 || age <= 0 || samples < 0) return BADPARAM;
    if (fields_of(handle, fields)->members[0] != FI_UUID && number_of(SYSTEM, "error.profiling", &failure))
        return (dcgmReturn_t)failure;
    if (number_of(SYSTEM, "most_fields", &most) && fields_of(handle, fields)->count > most) return -38;
    snprintf(text, sizeof text, "%lld", every);
    remember("watch", handle, gpus, fields, text);
    return OK;
}

dcgmReturn_t dcgmUnwatchFields(dcgmHandle_t handle, dcgmGpuGrp_t gpus, dcgmFieldGrp_t fields)
{
    BEGIN();
    if (!client_of(handle)) return CONNECTION_NOT_VALID;
    forget("watch", handle, gpus, fields);
    return OK;
}

dcgmReturn_t dcgmUpdateAllFields(dcgmHandle_t handle, int wait)
{
    BEGIN();
    (void)wait;
    return client_of(handle) ? OK : CONNECTION_NOT_VALID;
}

static void fill(dcgmFieldValue_v1 *value, unsigned gpu, unsigned field, int watched)
{
    char who[16], name[32];
    memset(value, 0, sizeof *value);
    snprintf(who, sizeof who, "%u", gpu);
    snprintf(name, sizeof name, "dcgm.%u", field);
    value->version = sizeof *value | 1u << 24;
    value->fieldId = (unsigned short)field;
    value->fieldType = field == FI_UUID ? 's' : field >= 1009 && field <= 1012 ? 'i' : 'd';
    value->status = watched ? OK : NOT_WATCHED;
    if (field == FI_UUID) {
        text_of(who, "uuid", value->value.str, sizeof value->value.str);
        return;
    }
    value->value.dbl = FP64_NOT_SUPPORTED;
    if (is_paused())
        value->value.dbl = FP64_BLANK;
    else
        number_of(who, name, &value->value.dbl);
    if (value->fieldType == 'i')
        value->value.i64 = value->value.dbl >= FP64_BLANK
                               ? INT64_BLANK + (int64_t)(value->value.dbl - FP64_BLANK)
                               : (int64_t)value->value.dbl;
}

dcgmReturn_t dcgmGetLatestValues_v2(dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmFieldGrp_t field_group,
                                    dcgmFieldValueEntityEnumeration_f callback, void *data)
{
    static __thread dcgmFieldValue_v1 values[MOST];
    struct group *gpus = gpus_of(handle, group), *fields = fields_of(handle, field_group);
    int i, j;
    BEGIN();
    if (!client_of(handle)) return CONNECTION_NOT_VALID;
    if (!gpus || !fields || !callback) return NOT_CONFIGURED;
    for (i = 0; i < gpus->count; i++) {
        for (j = 0; j < fields->count; j++)
            fill(&values[j], gpus->members[i], fields->members[j],
                 is_remembered("watch", handle, group, field_group));
        if (callback(FE_GPU, gpus->members[i], values, fields->count, data)) return OK;
    }
    return OK;
}

dcgmReturn_t dcgmProfPause(dcgmHandle_t handle)
{
    BEGIN();
    if (!client_of(handle)) return CONNECTION_NOT_VALID;
    set_paused(1);
    return OK;
}

dcgmReturn_t dcgmProfResume(dcgmHandle_t handle)
{
    BEGIN();
    if (!client_of(handle)) return CONNECTION_NOT_VALID;
    set_paused(0);
    return OK;
}
