/*
 * Which kvconform this is, more exactly than its version: results of different builds are not mixed.
 */
#ifndef KVC_HARNESS_BUILD_DIGEST_H
#define KVC_HARNESS_BUILD_DIGEST_H

enum { KVC_BUILD_DIGEST_SIZE = 17 };

/*
 * A digest of the running program and of what it reads from its data folder (specs, contracts, Python adapters): 16 digits. Files
 * that cannot be read count as empty.
 */
void kvc_build_digest(const char *data, char digest[KVC_BUILD_DIGEST_SIZE]);

#endif
