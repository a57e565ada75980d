/*
 * A child process and the two pipes to it: bounded reads, time limits, memory limit, and a certain end.
 */
#ifndef KVC_HARNESS_CHANNEL_H
#define KVC_HARNESS_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "harness/driver.h"

typedef struct kvc_channel kvc_channel;

/* Starts options->command. Returns NULL with *error set. */
kvc_channel *kvc_channel_open(const kvc_process_options *options, kvc_error *error);
/* Ends the process, kindly then not, and waits for it. */
void kvc_channel_close(kvc_channel *channel);
/* Queues bytes to be written while waiting for answers. Returns 0 when memory is short. */
int kvc_channel_send(kvc_channel *channel, const char *data, size_t length);
/* Reads one line of at most `limit` bytes without its newline; NUL-ended, valid until the next read. */
kvc_drive kvc_channel_read_line(kvc_channel *channel, size_t limit, int timeout_ms, char **line, size_t *length,
                                kvc_error *error);
/* Reads exactly `length` bytes, valid until the next read; a line that was read before is gone. */
kvc_drive kvc_channel_read_bytes(kvc_channel *channel, size_t length, int timeout_ms, const uint8_t **data,
                                 kvc_error *error);
/* How the process ended, for messages: "signal 6", "exit status 1". */
const char *kvc_channel_end_text(const kvc_channel *channel);

#endif
