/* What every call does first: hang, fail, and take its time, as the script says. */
#include "simulated.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAME_STRETCH 2e-4 /* calls closer than this keep the driver from others as one */

int initialised;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double total, stretch, longest, ended, processor;
static long calls;
static int spent = -2;

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double now(void) { return seconds_of(CLOCK_MONOTONIC); }

static void nap(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    double until = now() + seconds;
    if (seconds >= 1e-4)
        nanosleep(&t, NULL);
    else
        while (now() < until) continue;
}

static int setting(const char *who, const char *kind, const char *function, double *number)
{
    char field[64];
    snprintf(field, sizeof field, "%s.%s", kind, function);
    if (number_of(who, field, number)) return 1;
    snprintf(field, sizeof field, "%s.*", kind);
    return number_of(who, field, number);
}

/* Tell, in the file `spent`, how often the driver was called, for how long in all, at most at once, and what
   that cost the processor.
   A call counts as long as it should take: on a busy machine we wake late, which is not the driver's time. */
static void account(double began, double took, double used)
{
    char path[4096], text[96];
    int length;
    pthread_mutex_lock(&lock);
    stretch = began - ended < SAME_STRETCH ? stretch + (began - ended) + took : took;
    if (stretch > longest) longest = stretch;
    total += took;
    processor += used;
    ended = now();
    calls++;
    if (spent == -2) spent = beside_the_library("spent", path, sizeof path) ? open(path, O_WRONLY) : -1;
    length = snprintf(text, sizeof text, "%12ld %14.6f %14.6f %14.6f\n", calls, total, longest, processor);
    if (spent >= 0 && pwrite(spent, text, (size_t)length, 0) < 0) spent = -1;
    pthread_mutex_unlock(&lock);
}

nvmlReturn_t begin_call(const char *function, const char *who)
{
    double number, began = now();
    double took = 0, used = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    int starting = !strncmp(function, "nvmlInit", 8);
    if (!initialised && !starting) return UNINITIALIZED;
    look_at_the_script();
    while (setting(who, "hang", function, &number) && now() - began < number) {
        nap(0.01);
        look_at_the_script();
    }
    if (text_of(SYSTEM, "latency", (char[8]){0}, 8)) nap(took = latency_of(function));
    if (!starting) account(began, took, seconds_of(CLOCK_THREAD_CPUTIME_ID) - used);
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
