/* Beginning, end, versions, and what an error is called. */
#include "simulated.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int handle = -1; /* stands for the /dev/nvidia* that a real driver keeps open */

nvmlReturn_t nvmlInit_v2(void)
{
    char path[4096];
    ON_SYSTEM();
    if (!initialised++ && beside_the_library("device", path, sizeof path))
        handle = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return SUCCESS;
}

nvmlReturn_t nvmlInit(void) { return nvmlInit_v2(); }

nvmlReturn_t nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return nvmlInit_v2();
}

nvmlReturn_t nvmlShutdown(void)
{
    if (!initialised) return UNINITIALIZED;
    if (!--initialised && handle >= 0) {
        close(handle);
        handle = -1;
    }
    return SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    ON_SYSTEM();
    return copy_text(SYSTEM, "driver", version, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
    ON_SYSTEM();
    return copy_text(SYSTEM, "nvml", version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    ON_SYSTEM();
    return whole_number(SYSTEM, "cuda", (unsigned *)version);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    ON_SYSTEM();
    return whole_number(SYSTEM, "cuda", (unsigned *)version);
}

const char *nvmlErrorString(nvmlReturn_t code)
{
    switch (code) {
    case SUCCESS: return "Success";
    case UNINITIALIZED: return "Uninitialized";
    case INVALID_ARGUMENT: return "Invalid Argument";
    case NOT_SUPPORTED: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case NOT_FOUND: return "Not Found";
    case INSUFFICIENT_SIZE: return "Insufficient Size";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case TIMEOUT: return "Timeout";
    case 13: return "Function Not Found";
    case GPU_IS_LOST: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    case NO_DATA: return "No data";
    case VERSION_MISMATCH: return "Argument version mismatch";
    default: return "Unknown Error";
    }
}
