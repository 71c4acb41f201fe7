/* What the files of the simulated DCGM share. */
#ifndef VIGIE_DCGM_ENGINE_H
#define VIGIE_DCGM_ENGINE_H

#include "../nvml/scenario.h"
#include "abi.h"

#define MOST 64 /* connections, groups, and fields of a group */

struct group {
    int used, count;
    unsigned members[MOST]; /* GPUs, or fields */
};

struct client {
    int used;
    struct group gpus[MOST], fields[MOST];
};

/* calls.c: what every call does first: hang and fail, as the script says. */
dcgmReturn_t begin_call(const char *function);
extern int initialised;

/* clients.c: the connections of this process. */
struct client *client_of(dcgmHandle_t handle);
struct group *gpus_of(dcgmHandle_t handle, dcgmGpuGrp_t group);
struct group *fields_of(dcgmHandle_t handle, dcgmFieldGrp_t group);

/* shared.c: what the engine remembers of all its clients, as files in the directory `engine`. */
void remember(const char *what, dcgmHandle_t handle, uintptr_t a, uintptr_t b, const char *text);
void forget(const char *what, dcgmHandle_t handle, uintptr_t a, uintptr_t b);
void forget_client(dcgmHandle_t handle);
int is_remembered(const char *what, dcgmHandle_t handle, uintptr_t a, uintptr_t b);
void set_paused(int paused);
int is_paused(void);

#define BEGIN()                                         \
    do {                                                \
        dcgmReturn_t failed_ = begin_call(__func__);    \
        if (failed_) return failed_;                    \
    } while (0)

#endif
