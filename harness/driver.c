#include "harness/driver.h"

kvc_drive kvc_driver_hello(kvc_driver *driver, cJSON **hello, kvc_error *error)
{
    return driver->table->hello(driver, hello, error);
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

void kvc_driver_close(kvc_driver *driver)
{
    if (driver != NULL)
        driver->table->close(driver);
}
