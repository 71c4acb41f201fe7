/* What a call takes of the driver and of the processor, made up to its latency and told when it ends. */
#include "simulated.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SAME_STRETCH 2e-4 /* calls closer than this keep the driver from others as one */
#define SHORT 5e-5        /* below it, to sleep takes longer than to wait */

/* The file `spent`, if there is one: all calls so far, and the seconds in all, at most at once, of the processor. */
struct spent {
    double calls, total, longest, processor;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct spent unseen, *spent;
static double stretch, ended;

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double now(void) { return seconds_of(CLOCK_MONOTONIC); }

void nap(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static struct spent *told(void)
{
    char path[4096];
    struct spent *place = MAP_FAILED;
    int file = beside_the_library("spent", path, sizeof path) ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file >= 0 && lseek(file, 0, SEEK_END) >= (off_t)sizeof *place)
        place = mmap(NULL, sizeof *place, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    return place == MAP_FAILED ? &unseen : place;
}

void begin_spending(struct spending *spending)
{
    spending->began = now();
    spending->used = seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* A call counts as long as it should take: on a busy machine we wake late, which is not the driver's time. */
static void tell(struct spending *spending, double ends, double waits)
{
    pthread_mutex_lock(&lock);
    if (!spent) spent = told();
    stretch = (spending->began - ended < SAME_STRETCH ? stretch + spending->began - ended : 0) + spending->took;
    if (stretch > spent->longest) spent->longest = stretch;
    spent->total += spending->took;
    spent->calls++;
    ended = ends;
    spent->processor += seconds_of(CLOCK_THREAD_CPUTIME_ID) - spending->used + waits;
    pthread_mutex_unlock(&lock);
}

/* A short wait comes last, so that what we do for ourselves is part of the call's time and not added to it. */
void end_spending(struct spending *spending)
{
    double here = now(), left = spending->took ? spending->began + spending->took - here : 0;
    if (left >= SHORT) {
        nap(left);
        here = now();
    }
    if (left >= SHORT || left < 0) left = 0;
    if (spending->counted) tell(spending, here + left, left);
    while (left && now() < here + left) continue;
}
