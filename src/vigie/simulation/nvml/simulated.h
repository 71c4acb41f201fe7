/* What the files of the simulated driver share. */
#ifndef VIGIE_SIMULATED_H
#define VIGIE_SIMULATED_H

#include "abi.h"
#include "scenario.h"

#define MOST_GPUS 64
#define MOST_MIG 8

/* spending.c: what a call takes. */
struct spending {
    double began, took, used;
    int counted;
};
double now(void);
void nap(double seconds);
void begin_spending(struct spending *spending);
void end_spending(struct spending *spending);

/* Ends by itself, whichever way the call returns. */
#define SPENDING struct spending spending_ __attribute__((cleanup(end_spending))) = {0}

/* call.c: what every call does first: hang, and fail. */
extern int initialised;
nvmlReturn_t begin_call(const char *function, const char *who, struct spending *spending);
void name_of(nvmlDevice_t device, char *who, size_t size);
nvmlReturn_t whole_number(const char *who, const char *field, unsigned *out);
nvmlReturn_t long_number(const char *who, const char *field, unsigned long long *out);
nvmlReturn_t copy_text(const char *who, const char *field, char *out, unsigned length);

/* latency.c */
double latency_of(const char *function);

/* device.c */
nvmlReturn_t handle_of(int gpu, int mig, nvmlDevice_t *out);

/* Begins a call on a device: `who` names it; an error of the script ends the call. */
#define ON(device)                                                     \
    SPENDING;                                                          \
    char who[16];                                                      \
    if (!(device)) return INVALID_ARGUMENT;                            \
    name_of(device, who, sizeof who);                                  \
    do {                                                               \
        nvmlReturn_t failed_ = begin_call(__func__, who, &spending_);  \
        if (failed_) return failed_;                                   \
    } while (0)

#define ON_SYSTEM()                                                      \
    SPENDING;                                                            \
    do {                                                                 \
        nvmlReturn_t failed_ = begin_call(__func__, SYSTEM, &spending_); \
        if (failed_) return failed_;                                     \
    } while (0)

#endif
