/* Gives every file that is named to a fuzz target, once. For compilers without libFuzzer, and to look at one input again. */
#include "fuzz/fuzz.h"

int main(int argc, char **argv)
{
    for (int at = 1; at < argc; at++) {
        FILE *file = fopen(argv[at], "rb");
        long end = -1;
        uint8_t *data;
        size_t size;
        if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0) {
            (void)fprintf(stderr, "%s: cannot be read\n", argv[at]);
            if (file != NULL)
                (void)fclose(file);
            return 2;
        }
        /* Exactly as large as the input, so that a byte read too much is noticed. */
        data = malloc(end > 0 ? (size_t)end : 1);
        size = data != NULL ? fread(data, 1, (size_t)end, file) : 0;
        (void)fclose(file);
        if (data == NULL)
            return 2;
        (void)LLVMFuzzerTestOneInput(data, size);
        free(data);
    }
    (void)printf("%d inputs\n", argc - 1);
    return 0;
}
