// A KV cache of several rows and heads, in C++17: it is shown where it lies, by strides, and its rows can be reordered, selected and
// repeated. docs/tutorial-own-cache.md explains it.
#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include <kvconform/plugin.h>

namespace {

// Keys, or values: token after token, and of each token all rows and heads side by side.
struct Tensor {
    std::vector<unsigned char> data;
    size_t lane = 0; // bytes of one token in one row and head

    // The input has the dimensions [rows, heads, count, channels].
    void append(const unsigned char *input, size_t lanes, size_t count)
    {
        const size_t before = data.size();
        data.resize(before + count * lanes * lane);
        for (size_t at = 0; at < lanes; at++)
            for (size_t token = 0; token < count; token++, input += lane)
                std::memcpy(data.data() + before + (token * lanes + at) * lane, input, lane);
    }
    // Row i becomes what row rows[i] was.
    void take_rows(const std::vector<size_t> &rows, size_t row_bytes, size_t token_bytes)
    {
        std::vector<unsigned char> taken;
        for (size_t token = 0; token < data.size(); token += token_bytes)
            for (const size_t row : rows)
                taken.insert(taken.end(), data.begin() + static_cast<std::ptrdiff_t>(token + row * row_bytes),
                             data.begin() + static_cast<std::ptrdiff_t>(token + (row + 1) * row_bytes));
        data = std::move(taken);
    }
};

} // namespace

struct kvc_cache {
    kvc_params params;
    size_t rows, length;
    Tensor tensor[2]; // keys, values

    int channels(int which) const { return which == 0 ? params.key_dim : params.value_dim; }
    size_t lanes() const { return rows * static_cast<size_t>(params.heads); }

    void append(const int32_t *numbers, int32_t count)
    {
        for (int which = 0; which < 2; which++) {
            std::vector<unsigned char> input(lanes() * static_cast<size_t>(count) * tensor[which].lane);
            kvc_value_fill(&params, which, static_cast<int>(rows), params.heads, numbers, count, channels(which), input.data());
            tensor[which].append(input.data(), lanes(), static_cast<size_t>(count));
        }
        length += static_cast<size_t>(count);
    }
    void keep(size_t count)
    {
        length = count;
        for (Tensor &one : tensor)
            one.data.resize(count * lanes() * one.lane);
    }
    void take_rows(const std::vector<size_t> &taken)
    {
        for (Tensor &one : tensor)
            one.take_rows(taken, one.lane * static_cast<size_t>(params.heads), one.lane * lanes());
        rows = taken.size();
    }
    void show(int which, const char *name, kvc_observation *out) const
    {
        const auto bytes = [](size_t size) { return static_cast<int64_t>(size); };
        const int64_t shape[] = {bytes(rows), params.heads, bytes(length), channels(which)};
        kvc_tensor *shown = kvc_show(out, name, static_cast<kvc_dtype>(params.dtype), tensor[which].data.data(), 4, shape);
        shown->stride[0] = bytes(tensor[which].lane) * params.heads; // from a row to the next, in bytes
        shown->stride[1] = bytes(tensor[which].lane);                // from a head to the next
        shown->stride[2] = bytes(tensor[which].lane * lanes());      // from a token to the next
        shown->stride[3] = bytes(kvc_dtype_size(static_cast<kvc_dtype>(params.dtype)));
    }
};

namespace {

const char *variant(size_t index) { return index == 0 ? "Rows" : nullptr; }

const char *spec(const char *)
{
    return R"({"like": "builtin:full", "ops": ["append", "crop", "reset", "reorder", "select", "repeat"]})";
}

kvc_cache *open_cache(const char *, const kvc_params *params, const char *, const char *)
{
    kvc_cache *cache = new (std::nothrow) kvc_cache{*params, static_cast<size_t>(params->batch), 0, {}};
    for (int which = 0; cache != nullptr && which < 2; which++)
        cache->tensor[which].lane =
            static_cast<size_t>(cache->channels(which)) * kvc_dtype_size(static_cast<kvc_dtype>(params->dtype));
    return cache;
}

void close_cache(kvc_cache *cache) { delete cache; }

void perform(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out)
{
    std::vector<size_t> rows(op->rows, op->rows + op->count);
    switch (op->kind) {
    case KVC_APPEND:
        return cache->append(numbers, op->n);
    case KVC_CROP:
        if (op->n > 0)
            return kvc_refuse(out, "ValueError", "crop takes no positive number");
        return cache->keep(cache->length - std::min(cache->length, static_cast<size_t>(-static_cast<int64_t>(op->n))));
    case KVC_RESET:
        return cache->keep(0);
    case KVC_REPEAT:
        for (size_t row = 0; row < cache->rows; row++)
            rows.insert(rows.end(), static_cast<size_t>(op->n), row);
        return cache->take_rows(rows);
    case KVC_REORDER:
    case KVC_SELECT:
        return cache->take_rows(rows);
    default:
        return kvc_refuse(out, "NotImplementedError", "this cache does not do that");
    }
}

void run(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out)
{
    perform(cache, op, numbers, out);
    out->layers = 1;
    out->length[0] = static_cast<int64_t>(cache->length);
    cache->show(0, "keys", out);
    cache->show(1, "values", out);
    if (op->kind == KVC_APPEND) { // what the append gives to attention
        cache->show(0, "returned.keys", out);
        cache->show(1, "returned.values", out);
    }
}

} // namespace

const kvc_plugin *kvconform_plugin()
{
    static const kvc_plugin plugin = {KVC_PLUGIN_VERSION, sizeof plugin, "rows_cache", "1.0", variant, spec, nullptr, open_cache,
                                      run, close_cache, nullptr, nullptr, nullptr, nullptr, nullptr};
    return &plugin;
}
