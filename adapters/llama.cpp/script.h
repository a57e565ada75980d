/*
 * Stand-alone C programs that show a finding with llama.cpp alone.
 */
#ifndef KVC_ADAPTERS_LLAMA_SCRIPT_H
#define KVC_ADAPTERS_LLAMA_SCRIPT_H

#include <stddef.h>

/* As `script` of kvc_plugin. */
size_t kvc_llama_script(const char *request, char *out, size_t room);

#endif
