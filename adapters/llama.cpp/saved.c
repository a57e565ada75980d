#include "saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAVED_MORE = 16 /* bytes that a damage may add */, SAVED_PATH = 512, SAVED_PROMPT = 3, SAVED_PROMPT_ROOM = 16 };

static const llama_token saved_prompt[SAVED_PROMPT] = {3, 1, 2};

/* ---- Damages ---- */

/* Where in a state something stands. */
typedef struct saved_places {
    size_t cells; /* the first number of cells that is not 0 */
    size_t cell;  /* the first of these cells: position, number of owners, owners */
    size_t data;  /* the first number of layers; behind it a type and the size of a row */
} saved_places;

static uint32_t saved_number(const uint8_t *bytes, size_t size, size_t at)
{
    uint32_t number = 0;

    if (at <= size && size - at >= sizeof number)
        memcpy(&number, bytes + at, sizeof number);
    return number;
}

static size_t saved_at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

static saved_places saved_find(const kvc_saved *self)
{
    /* Before the memory's own bytes: a magic number and a sequence; in a file a magic number, a version and a prompt. */
    size_t head = (self->in_file ? 3 + SAVED_PROMPT : 2) * sizeof(uint32_t);
    uint32_t streams = self->attention ? saved_number(self->bytes, self->size, head) : 0;
    saved_places out = {head + (self->attention ? sizeof(uint32_t) : 0), 0, 0};
    uint32_t count;

    for (uint32_t stream = 1; stream < streams && saved_number(self->bytes, self->size, out.cells) == 0 && out.cells < self->size; stream++)
        out.cells += sizeof(uint32_t);
    count = saved_number(self->bytes, self->size, out.cells);
    out.cell = out.data = out.cells + sizeof(uint32_t);
    for (uint32_t at = 0; at < count && out.data < self->size; at++)
        out.data += (2 + (size_t)saved_number(self->bytes, self->size, out.data + sizeof(uint32_t))) * sizeof(uint32_t);
    out.data += sizeof(uint32_t);
    return out;
}

/* Spoils a copy of the state, behind which there is room for SAVED_MORE. Returns how many bytes of it are handed over. */
static size_t saved_spoil(const kvc_saved *self, int damage, uint8_t *bytes)
{
    enum { ONE_CELL_LESS = 16, ONE_CELL_MORE = 17, BYTES_MORE = 18, NO_NUMBERS = 19, ROWS = 16 /* bytes from the number of layers */ };
    const saved_places place = saved_find(self);
    const size_t size = self->size;
    /* For each damage how much is kept, and which byte is changed and how. */
    const struct {
        size_t kept;
        size_t byte;
        uint8_t change;
    } table[] = {{size, 0, 0},
                 {0, 0, 0},
                 {saved_at_most(size, 8), 0, 0},
                 {size / 2, 0, 0},
                 {size - 1, 0, 0},
                 {size, 0, 0x55},
                 {size, place.cells + 2, 0x55},
                 {size, place.data, 0x55},
                 {size, place.data + 4, 0x55},
                 {size / 4, 0, 0},
                 {size / 4 * 3, 0, 0},
                 {saved_at_most(size, place.cell), 0, 0},
                 {saved_at_most(size, place.data), 0, 0},
                 {size, place.data + 8, 0x55},
                 {size, place.cell + 4, 0x55},
                 {size, place.cell + 3, 0x80},
                 {size, 0, 0},
                 {size, 0, 0},
                 {size + SAVED_MORE, 0, 0},
                 {size, 0, 0},
                 {size, 4, 0x55},
                 {size, 8, 0x55}};

    if ((size_t)damage >= sizeof table / sizeof table[0] || table[damage].byte >= size)
        return size;
    bytes[table[damage].byte] ^= table[damage].change;
    if (damage == ONE_CELL_LESS || damage == ONE_CELL_MORE) {
        uint32_t count = saved_number(bytes, size, place.cells) + (damage == ONE_CELL_MORE ? 1u : ~0u);
        if (size >= place.cell)
            memcpy(bytes + place.cells, &count, sizeof count);
    }
    if (damage == BYTES_MORE)
        memset(bytes + size, 0xa5, SAVED_MORE);
    if (damage == NO_NUMBERS && place.data + ROWS < size)
        memset(bytes + place.data + ROWS, 0xff, size - place.data - ROWS);
    return table[damage].kept;
}

/* ---- Files ---- */

static int saved_make_path(char path[SAVED_PATH])
{
    const char *folder = getenv("TMPDIR");
    int file;

    (void)snprintf(path, SAVED_PATH, "%.400s/kvconform-state-XXXXXX", folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    file = mkstemp(path);
    return file >= 0 && close(file) == 0;
}

/* All bytes of a file, owned by the caller; NULL when it cannot be read. */
static uint8_t *saved_read(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = file != NULL ? malloc(size + 1) : NULL;

    if (bytes != NULL && fread(bytes, 1, size + 1, file) != size) {
        free(bytes);
        bytes = NULL;
    }
    if (file != NULL)
        (void)fclose(file);
    return bytes;
}

static int saved_write(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    int good = file != NULL && fwrite(bytes, 1, size, file) == size;

    return file != NULL && fclose(file) == 0 && good;
}

static uint8_t *saved_to_file(struct llama_context *context, llama_seq_id sequence, size_t *size)
{
    char path[SAVED_PATH];
    uint8_t *bytes = NULL;

    if (!saved_make_path(path))
        return NULL;
    *size = llama_state_seq_save_file(context, path, sequence, saved_prompt, SAVED_PROMPT);
    if (*size > 0)
        bytes = saved_read(path, *size);
    (void)unlink(path);
    return bytes;
}

/* Whole files must bring their prompt back; a damaged one that is taken was taken, whatever prompt came of it. */
static int saved_from_file(struct llama_context *context, llama_seq_id sequence, const uint8_t *bytes, size_t size, int damage)
{
    char path[SAVED_PATH];
    llama_token prompt[SAVED_PROMPT_ROOM];
    size_t count = 0;
    int good;

    if (!saved_make_path(path))
        return 0;
    good = saved_write(path, bytes, size) && llama_state_seq_load_file(context, path, sequence, prompt, SAVED_PROMPT_ROOM, &count) > 0 &&
           (damage > 0 || (count == SAVED_PROMPT && memcmp(prompt, saved_prompt, sizeof saved_prompt) == 0));
    (void)unlink(path);
    return good;
}

/* ---- Memory ---- */

static llama_state_seq_flags saved_flags(const kvc_saved *self)
{
    return self->checkpoint ? LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY : LLAMA_STATE_SEQ_FLAGS_NONE;
}

static uint8_t *saved_to_memory(const kvc_saved *self, struct llama_context *context, llama_seq_id sequence, size_t *size)
{
    uint8_t *bytes;

    *size = llama_state_seq_get_size_ext(context, sequence, saved_flags(self));
    bytes = *size > 0 ? malloc(*size) : NULL;
    if (bytes != NULL && llama_state_seq_get_data_ext(context, bytes, *size, sequence, saved_flags(self)) != *size) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

static int saved_from_memory(const kvc_saved *self, struct llama_context *context, llama_seq_id sequence, const uint8_t *bytes, size_t size)
{
    return llama_state_seq_set_data_ext(context, bytes, size, sequence, saved_flags(self)) > 0 &&
           (!self->checkpoint || llama_memory_seq_rm(llama_get_memory(context), sequence, self->last + 1, -1));
}

void kvc_saved_clear(kvc_saved *self)
{
    free(self->bytes);
    self->bytes = NULL;
    self->size = 0;
}

int kvc_saved_take(kvc_saved *self, struct llama_context *context, llama_seq_id sequence)
{
    size_t size = 0;
    uint8_t *bytes = self->in_file ? saved_to_file(context, sequence, &size) : saved_to_memory(self, context, sequence, &size);
    if (bytes == NULL)
        return 0;
    kvc_saved_clear(self);
    self->bytes = bytes;
    self->size = size;
    self->last = llama_memory_seq_pos_max(llama_get_memory(context), sequence);
    return 1;
}

int kvc_saved_restore(const kvc_saved *self, struct llama_context *context, llama_seq_id sequence, int damage)
{
    uint8_t *bytes = self->bytes != NULL ? malloc(self->size + SAVED_MORE) : NULL;
    size_t size = self->size;
    int good;

    if (bytes == NULL)
        return 0;
    memcpy(bytes, self->bytes, size);
    if (damage > 0)
        size = saved_spoil(self, damage, bytes);
    good = self->in_file ? saved_from_file(context, sequence, bytes, size, damage)
                         : saved_from_memory(self, context, sequence, bytes, size);
    free(bytes);
    return good;
}
