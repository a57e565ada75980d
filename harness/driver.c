#include "harness/driver.h"

#include <stdlib.h>

kvc_drive kvc_driver_hello(kvc_driver *driver, cJSON **hello, kvc_error *error)
{
    return driver->table->hello(driver, hello, error);
}

const cJSON *kvc_hello_location(const cJSON *hello, const char *variant)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(hello, "locations"), variant);
}

const cJSON *kvc_hello_notes(const cJSON *hello, const char *field, const char *variant)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(hello, field), variant);
}

const char *kvc_hello_scripts(const cJSON *hello)
{
    const char *suffix = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(hello, "scripts"));

    return suffix != NULL ? suffix : "py";
}

const char *kvc_hello_unavailable(const cJSON *hello, const char *variant)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(hello, "unavailable");

    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(list, variant));
}

const char **kvc_hello_variants(const cJSON *hello)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(hello, "variants");
    const char **variants = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *variants);
    const cJSON *item;
    size_t count = 0;

    if (variants == NULL)
        return NULL;
    cJSON_ArrayForEach(item, list)
        variants[count++] = item->valuestring;
    return variants;
}

kvc_drive kvc_driver_submit(kvc_driver *driver, const kvc_batch *batch, kvc_error *error)
{
    return driver->table->submit(driver, batch, error);
}

kvc_drive kvc_driver_collect(kvc_driver *driver, kvc_step_function step, void *context, kvc_error *error)
{
    return driver->table->collect(driver, step, context, error);
}

kvc_drive kvc_driver_script(kvc_driver *driver, const char *request, char **script, kvc_error *error)
{
    return driver->table->script(driver, request, script, error);
}

kvc_drive kvc_driver_classes(kvc_driver *driver, cJSON **classes, kvc_error *error)
{
    *classes = NULL;
    return driver->table->classes != NULL ? driver->table->classes(driver, classes, error) : KVC_DROVE;
}

kvc_drive kvc_driver_layers(kvc_driver *driver, const char *request, cJSON **layers, kvc_error *error)
{
    *layers = NULL;
    return driver->table->layers != NULL ? driver->table->layers(driver, request, layers, error) : KVC_DROVE;
}

void kvc_driver_close(kvc_driver *driver)
{
    if (driver != NULL)
        driver->table->close(driver);
}

size_t kvc_driver_told(kvc_driver *driver, size_t sequence, const uint32_t **told)
{
    *told = NULL;
    return driver->table->told != NULL ? driver->table->told(driver, sequence, told) : 0;
}
