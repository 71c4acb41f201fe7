/* What every call does first: hang and fail, as the script says; and how large the structures are. */
#include "engine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int initialised;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int setting(const char *kind, const char *function, double *number)
{
    char field[64];
    snprintf(field, sizeof field, "%s.%s", kind, function);
    if (number_of(SYSTEM, field, number)) return 1;
    snprintf(field, sizeof field, "%s.dcgm*", kind);
    return number_of(SYSTEM, field, number);
}

dcgmReturn_t begin_call(const char *function)
{
    struct timespec pause = {0, 10000000};
    double number, began = now();
    if (!initialised && strcmp(function, "dcgmInit")) return UNINITIALIZED;
    look_at_the_script();
    while (setting("hang", function, &number) && now() - began < number) {
        nanosleep(&pause, NULL);
        look_at_the_script();
    }
    return setting("error", function, &number) ? (dcgmReturn_t)number : OK;
}

unsigned long simulated_size_of(const char *name)
{
    if (!strcmp(name, "dcgmConnectV2Params_v2")) return sizeof(dcgmConnectV2Params_v2);
    return strcmp(name, "dcgmFieldValue_v1") ? 0 : sizeof(dcgmFieldValue_v1);
}
