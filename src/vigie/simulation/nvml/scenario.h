/* The script that a simulated library follows. */
#ifndef VIGIE_SCENARIO_H
#define VIGIE_SCENARIO_H

#include <stddef.h>

#define SYSTEM "system"

/* `who` is "system", a GPU's number, or GPU/slot for a MIG instance. */
void look_at_the_script(void);
double simulated_time(void);
int there_is(const char *kind); /* whether a field may begin with `kind.` */
int text_of(const char *who, const char *field, char *text, size_t size);
int number_of(const char *who, const char *field, double *number);
double average_of(const char *who, const char *field, double from, double to);
int nth_text_of(const char *who, const char *field, int nth, char *text, size_t size);
const char *beside_the_library(const char *name, char *path, size_t size);

#endif
