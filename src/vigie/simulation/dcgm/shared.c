/* What the engine remembers of all its clients, as files in the directory `engine` beside the library. */
#include "engine.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *place(const char *name, char *path, size_t size)
{
    char directory[4096];
    beside_the_library("engine", directory, sizeof directory);
    mkdir(directory, 0755);
    snprintf(path, size, "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    char path[4400];
    int file = open(place(name, path, sizeof path), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0) return;
    if (write(file, text, strlen(text)) < 0) unlink(path);
    close(file);
}

static const char *name_of(const char *what, dcgmHandle_t handle, uintptr_t a, uintptr_t b, char *name, size_t size)
{
    snprintf(name, size, "%d.%zu.%s.%zu.%zu", getpid(), (size_t)handle, what, (size_t)a, (size_t)b);
    return name;
}

static int exists(const char *name)
{
    char path[4400];
    return !access(place(name, path, sizeof path), F_OK);
}

void remember(const char *what, dcgmHandle_t handle, uintptr_t a, uintptr_t b, const char *text)
{
    char name[128];
    write_file(name_of(what, handle, a, b, name, sizeof name), text);
}

void forget(const char *what, dcgmHandle_t handle, uintptr_t a, uintptr_t b)
{
    char name[128], path[4400];
    unlink(place(name_of(what, handle, a, b, name, sizeof name), path, sizeof path));
}

int is_remembered(const char *what, dcgmHandle_t handle, uintptr_t a, uintptr_t b)
{
    char name[128];
    return exists(name_of(what, handle, a, b, name, sizeof name));
}

/* As the engine does when a connection ends, unless it was to persist. */
void forget_client(dcgmHandle_t handle)
{
    char prefix[64], path[4400], directory[4096];
    struct dirent *entry;
    DIR *all;
    beside_the_library("engine", directory, sizeof directory);
    snprintf(prefix, sizeof prefix, "%d.%zu.", getpid(), (size_t)handle);
    if (!(all = opendir(directory))) return;
    while ((entry = readdir(all)))
        if (!strncmp(entry->d_name, prefix, strlen(prefix))) unlink(place(entry->d_name, path, sizeof path));
    closedir(all);
}

void set_paused(int paused)
{
    char path[4400];
    if (paused)
        write_file("paused", "");
    else
        unlink(place("paused", path, sizeof path));
}

int is_paused(void) { return exists("paused"); }
