/*
 * Whether bytes are UTF-8, and making them so: what is written as JSON must be.
 */
#ifndef KVC_REFERENCE_UTF8_H
#define KVC_REFERENCE_UTF8_H

#include <stddef.h>

/* Number of bytes at the front that are whole characters: `length` when all of them are. */
size_t kvc_utf8_valid(const char *text, size_t length);
/* Puts a question mark in the place of every byte that belongs to no character, such as those of one that was cut. */
void kvc_utf8_repair(char *text);

#endif
