/* The script: lines of `who field value [@seconds]`, read again whenever the file changes.
   Of the lines that fit and whose time has come, the last one holds. A value may grow: `100+5/s`.
   `none` takes a value back. `system clock 12` stops the clock there. */
#define _GNU_SOURCE
#include "scenario.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct line {
    char who[16], field[64], value[160];
    double at;
};

#define MOST_LINES 4096
#define BUCKETS 1024

static struct line lines[MOST_LINES];
static int newest[BUCKETS], older[MOST_LINES]; /* lines whose fields share a bucket, from one to the next; -1 ends */
static char kinds[BUCKETS]; /* whether there is a field that begins so */
static int count;
static struct stat seen;
static double started, stopped_at = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const char *beside_the_library(const char *name, char *path, size_t size)
{
    Dl_info found;
    char *slash;
    if (!dladdr((void *)beside_the_library, &found) || !found.dli_fname) return NULL;
    snprintf(path, size, "%s", found.dli_fname);
    slash = strrchr(path, '/');
    if (!slash) slash = path;
    snprintf(slash, size - (size_t)(slash - path), "/%s", name);
    return path;
}

static double monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int bucket_of(const char *text, size_t length)
{
    unsigned key = 5381;
    while (length--) key = key * 33 + (unsigned char)*text++;
    return (int)(key % BUCKETS);
}

static int newest_of(const char *field) { return count ? newest[bucket_of(field, strlen(field))] : -1; }

static void parse(char *text)
{
    struct line *line;
    char *at, *end;
    int used = 0, bucket;
    if ((end = strchr(text, '\n'))) *end = 0;
    if (count == MOST_LINES) return;
    line = &lines[count];
    memset(line, 0, sizeof *line);
    if (text[0] == '#' || sscanf(text, "%15s %63s %n", line->who, line->field, &used) < 2 || !used) return;
    snprintf(line->value, sizeof line->value, "%s", text + used);
    at = strrchr(line->value, '@');
    if (at && at > line->value && at[-1] == ' ') {
        line->at = atof(at + 1);
        at[-1] = 0;
    }
    kinds[bucket_of(line->field, strcspn(line->field, "."))] = 1;
    bucket = bucket_of(line->field, strlen(line->field));
    older[count] = newest[bucket];
    newest[bucket] = count;
    if (!strcmp(line->who, SYSTEM) && !strcmp(line->field, "clock")) stopped_at = atof(line->value);
    count++;
}

static void refresh(void)
{
    static char path[4096]; /* found once: to look for it takes longer than most calls */
    char text[512];
    struct stat now;
    FILE *file;
    if (!started) started = monotonic();
    if (!*path && !beside_the_library("scenario", path, sizeof path)) return;
    if (stat(path, &now)) return;
    if (now.st_ino == seen.st_ino && now.st_mtim.tv_nsec == seen.st_mtim.tv_nsec &&
        now.st_mtim.tv_sec == seen.st_mtim.tv_sec && now.st_size == seen.st_size)
        return;
    file = fopen(path, "r");
    if (!file) return;
    seen = now;
    count = 0;
    memset(newest, -1, sizeof newest);
    memset(kinds, 0, sizeof kinds);
    stopped_at = -1;
    while (fgets(text, sizeof text, file)) parse(text);
    fclose(file);
}

static double clock_now(void) { return stopped_at >= 0 ? stopped_at : monotonic() - started; }

static int fits(int i, const char *who, const char *field)
{
    const struct line *line = &lines[i];
    if (strcmp(line->field, field)) return 0;
    if (!strcmp(line->who, "*")) return !strchr(who, '/'); /* as fnmatch, which takes longer than most calls */
    return !strcmp(line->who, who) || (strpbrk(line->who, "*?[") && !fnmatch(line->who, who, FNM_PATHNAME));
}

static const struct line *find(const char *who, const char *field, double now)
{
    int i;
    for (i = newest_of(field); i >= 0; i = older[i])
        if (fits(i, who, field) && lines[i].at <= now)
            return strcmp(lines[i].value, "none") ? &lines[i] : NULL;
    return NULL;
}

static double value_of(const struct line *line, double now)
{
    char *end;
    double value = strtod(line->value, &end);
    return *end == '+' ? value + atof(end + 1) * (now - line->at) : value;
}

void look_at_the_script(void)
{
    pthread_mutex_lock(&lock);
    refresh();
    pthread_mutex_unlock(&lock);
}

double simulated_time(void)
{
    double now;
    pthread_mutex_lock(&lock);
    now = clock_now();
    pthread_mutex_unlock(&lock);
    return now;
}

int there_is(const char *kind)
{
    int found;
    pthread_mutex_lock(&lock);
    found = kinds[bucket_of(kind, strlen(kind))];
    pthread_mutex_unlock(&lock);
    return found;
}

int text_of(const char *who, const char *field, char *text, size_t size)
{
    const struct line *line;
    pthread_mutex_lock(&lock);
    line = find(who, field, clock_now());
    if (line) snprintf(text, size, "%s", line->value);
    pthread_mutex_unlock(&lock);
    return line != NULL;
}

int number_of(const char *who, const char *field, double *number)
{
    const struct line *line;
    pthread_mutex_lock(&lock);
    line = find(who, field, clock_now());
    if (line) *number = value_of(line, clock_now());
    pthread_mutex_unlock(&lock);
    return line != NULL;
}

/* The mean of a value that changes in steps. */
double average_of(const char *who, const char *field, double from, double to)
{
    double sum = 0, t = from;
    const struct line *line;
    int i, first;
    pthread_mutex_lock(&lock);
    first = newest_of(field);
    while (t < to) {
        double next = to;
        for (i = first; i >= 0; i = older[i])
            if (lines[i].at > t && lines[i].at < next && fits(i, who, field)) next = lines[i].at;
        line = find(who, field, t);
        if (line) sum += value_of(line, t) * (next - t);
        t = next;
    }
    line = find(who, field, to);
    if (from >= to) sum = line ? value_of(line, to) : 0;
    pthread_mutex_unlock(&lock);
    return from >= to ? sum : sum / (to - from);
}

/* The nth line of this field whose time has come: for what happens, and may happen twice. */
int nth_text_of(const char *who, const char *field, int nth, char *text, size_t size)
{
    int i, found = 0;
    pthread_mutex_lock(&lock);
    for (i = newest_of(field) < 0 ? count : 0; i < count && !found; i++)
        if (lines[i].at <= clock_now() && fits(i, who, field) && nth-- == 0) {
            snprintf(text, size, "%s", lines[i].value);
            found = 1;
        }
    pthread_mutex_unlock(&lock);
    return found;
}
