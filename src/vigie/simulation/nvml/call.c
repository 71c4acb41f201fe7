/* What every call does first: hang, and fail, as the script says. */
#include "simulated.h"

#include <stdio.h>
#include <string.h>

int initialised;

static int setting(const char *who, const char *kind, const char *function, double *number)
{
    char field[64];
    if (!there_is(kind)) return 0;
    snprintf(field, sizeof field, "%s.%s", kind, function);
    if (number_of(who, field, number)) return 1;
    snprintf(field, sizeof field, "%s.*", kind);
    return number_of(who, field, number);
}

nvmlReturn_t begin_call(const char *function, const char *who, struct spending *spending)
{
    double number;
    int starting = !strncmp(function, "nvmlInit", 8);
    if (!initialised && !starting) return UNINITIALIZED;
    begin_spending(spending);
    look_at_the_script();
    while (setting(who, "hang", function, &number) && now() - spending->began < number) {
        nap(0.01);
        look_at_the_script();
    }
    spending->counted = !starting;
    if (text_of(SYSTEM, "latency", (char[8]){0}, 8)) spending->took = latency_of(function);
    if (number_of(SYSTEM, "unloaded", &number) && number) return DRIVER_NOT_LOADED;
    if (setting(who, "error", function, &number)) return (nvmlReturn_t)number;
    return SUCCESS;
}

void name_of(nvmlDevice_t device, char *who, size_t size)
{
    if (device->mig < 0)
        snprintf(who, size, "%d", device->gpu);
    else
        snprintf(who, size, "%d/%d", device->gpu, device->mig);
}

nvmlReturn_t whole_number(const char *who, const char *field, unsigned *out)
{
    double number;
    if (!out) return INVALID_ARGUMENT;
    if (!number_of(who, field, &number)) return NOT_SUPPORTED;
    *out = (unsigned)number;
    return SUCCESS;
}

nvmlReturn_t long_number(const char *who, const char *field, unsigned long long *out)
{
    double number;
    if (!out) return INVALID_ARGUMENT;
    if (!number_of(who, field, &number)) return NOT_SUPPORTED;
    *out = (unsigned long long)number;
    return SUCCESS;
}

nvmlReturn_t copy_text(const char *who, const char *field, char *out, unsigned length)
{
    char text[160];
    if (!out) return INVALID_ARGUMENT;
    if (!text_of(who, field, text, sizeof text)) return NOT_SUPPORTED;
    if (strlen(text) >= length) return INSUFFICIENT_SIZE;
    snprintf(out, length, "%s", text);
    return SUCCESS;
}
