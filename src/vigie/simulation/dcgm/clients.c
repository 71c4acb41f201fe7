/* Connections to the engine, and the groups of GPUs and fields that each has made. */
#include "engine.h"

#include <stdio.h>
#include <string.h>

static struct client clients[MOST];

struct client *client_of(dcgmHandle_t handle)
{
    return handle >= 1 && handle <= MOST && clients[handle - 1].used ? &clients[handle - 1] : NULL;
}

static struct group *of(struct group *groups, uintptr_t number)
{
    return number >= 1 && number <= MOST && groups[number - 1].used ? &groups[number - 1] : NULL;
}

struct group *gpus_of(dcgmHandle_t handle, dcgmGpuGrp_t group)
{
    struct client *client = client_of(handle);
    return client ? of(client->gpus, group) : NULL;
}

struct group *fields_of(dcgmHandle_t handle, dcgmFieldGrp_t group)
{
    struct client *client = client_of(handle);
    return client ? of(client->fields, group) : NULL;
}

static dcgmReturn_t new_client(dcgmHandle_t *handle, const char *address)
{
    unsigned i;
    for (i = 0; i < MOST; i++)
        if (!clients[i].used) {
            memset(&clients[i], 0, sizeof clients[i]);
            clients[i].used = 1;
            *handle = i + 1;
            remember("client", *handle, 0, 0, address);
            return OK;
        }
    return MAX_LIMIT;
}

static dcgmReturn_t new_group(struct group *groups, uintptr_t *number)
{
    unsigned i;
    for (i = 0; i < MOST; i++)
        if (!groups[i].used) {
            memset(&groups[i], 0, sizeof groups[i]);
            groups[i].used = 1;
            *number = i + 1;
            return OK;
        }
    return MAX_LIMIT;
}

dcgmReturn_t dcgmInit(void)
{
    BEGIN();
    initialised++;
    return OK;
}

dcgmReturn_t dcgmShutdown(void)
{
    BEGIN();
    initialised--;
    return OK;
}

dcgmReturn_t dcgmConnect_v2(const char *address, dcgmConnectV2Params_v2 *parameters, dcgmHandle_t *handle)
{
    char listens[160];
    int i;
    BEGIN();
    if (!address || !parameters || !handle) return BADPARAM;
    if (parameters->version != (sizeof *parameters | 2u << 24)) return VER_MISMATCH;
    if ((address[0] == '/') != !!parameters->addressIsUnixSocket) return BADPARAM;
    for (i = 0; nth_text_of(SYSTEM, "listens", i, listens, sizeof listens); i++)
        if (!strcmp(listens, address)) return new_client(handle, address);
    return CONNECTION_NOT_VALID;
}

dcgmReturn_t dcgmDisconnect(dcgmHandle_t handle)
{
    struct client *client = client_of(handle);
    BEGIN();
    if (!client) return CONNECTION_NOT_VALID;
    forget_client(handle);
    client->used = 0;
    return OK;
}

dcgmReturn_t dcgmStartEmbedded(int mode, dcgmHandle_t *handle)
{
    BEGIN();
    (void)mode;
    return handle ? new_client(handle, "embedded") : BADPARAM;
}

dcgmReturn_t dcgmStopEmbedded(dcgmHandle_t handle) { return dcgmDisconnect(handle); }

dcgmReturn_t dcgmGroupCreate(dcgmHandle_t handle, int type, const char *name, dcgmGpuGrp_t *group)
{
    struct client *client = client_of(handle);
    struct group *made;
    char who[16], uuid[96];
    unsigned gpu;
    BEGIN();
    if (!client) return CONNECTION_NOT_VALID;
    if (!group || !name || new_group(client->gpus, group)) return BADPARAM;
    made = gpus_of(handle, *group);
    for (gpu = 0; type == GROUP_DEFAULT && gpu < MAX_DEVICES; gpu++) {
        snprintf(who, sizeof who, "%u", gpu);
        if (text_of(who, "uuid", uuid, sizeof uuid)) made->members[made->count++] = gpu;
    }
    remember("group", handle, *group, 0, name);
    return OK;
}

dcgmReturn_t dcgmGroupAddEntity(dcgmHandle_t handle, dcgmGpuGrp_t group, int kind, unsigned entity)
{
    struct group *gpus = gpus_of(handle, group);
    BEGIN();
    if (!gpus) return NOT_CONFIGURED;
    if (kind != FE_GPU || gpus->count == MOST) return BADPARAM;
    gpus->members[gpus->count++] = entity;
    return OK;
}

dcgmReturn_t dcgmGroupDestroy(dcgmHandle_t handle, dcgmGpuGrp_t group)
{
    struct group *gpus = gpus_of(handle, group);
    BEGIN();
    if (!gpus) return NOT_CONFIGURED;
    gpus->used = 0;
    forget("group", handle, group, 0);
    return OK;
}

dcgmReturn_t dcgmFieldGroupCreate(dcgmHandle_t handle, int count, const unsigned short *ids, const char *name,
                                  dcgmFieldGrp_t *group)
{
    struct client *client = client_of(handle);
    struct group *made;
    BEGIN();
    if (!client) return CONNECTION_NOT_VALID;
    if (count < 1 || count > MOST || !ids || !name || !group || new_group(client->fields, group)) return BADPARAM;
    made = fields_of(handle, *group);
    while (made->count < count) {
        made->members[made->count] = ids[made->count];
        made->count++;
    }
    remember("fields", handle, *group, 0, name);
    return OK;
}

dcgmReturn_t dcgmFieldGroupDestroy(dcgmHandle_t handle, dcgmFieldGrp_t group)
{
    struct group *fields = fields_of(handle, group);
    BEGIN();
    if (!fields) return NOT_CONFIGURED;
    fields->used = 0;
    forget("fields", handle, group, 0);
    return OK;
}
