/* Numbers and structures of DCGM 3 and 4, as published in dcgm_structs.h and dcgm_fields.h. */
#ifndef VIGIE_DCGM_ABI_H
#define VIGIE_DCGM_ABI_H

#include <stdint.h>

typedef int dcgmReturn_t;
typedef uintptr_t dcgmHandle_t, dcgmGpuGrp_t, dcgmFieldGrp_t;

enum {
    OK = 0,
    BADPARAM = -1,
    NOT_CONFIGURED = -5,
    UNINITIALIZED = -10,
    VER_MISMATCH = -12,
    NOT_WATCHED = -16,
    CONNECTION_NOT_VALID = -21,
    MAX_LIMIT = -24,
};

enum { GROUP_DEFAULT = 0, GROUP_EMPTY = 1, FE_GPU = 1, FI_UUID = 54, MAX_DEVICES = 32 };

#define INT64_BLANK 0x7ffffffffffffff0LL
#define FP64_BLANK 140737488355328.0
#define FP64_NOT_SUPPORTED (FP64_BLANK + 2.0)

typedef struct {
    unsigned int version, persistAfterDisconnect, timeoutMs, addressIsUnixSocket;
} dcgmConnectV2Params_v2;

typedef struct {
    unsigned int version;
    unsigned short fieldId, fieldType;
    int status;
    int64_t ts;
    union {
        int64_t i64;
        double dbl;
        char str[256];
        char blob[4096];
    } value;
} dcgmFieldValue_v1;

typedef int (*dcgmFieldValueEntityEnumeration_f)(int, unsigned int, dcgmFieldValue_v1 *, int, void *);

#endif
