#include "script.h"

size_t kvc_llama_script(const char *request, char *out, size_t room)
{
    (void)request;
    if (room > 0)
        out[0] = '\0';
    return 0;
}
