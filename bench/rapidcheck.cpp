/*
 * RapidCheck on the built-in caches: it draws the ops, its state machine runs them, and what is checked after each is what kvconform
 * checks, by the same judge (checked.h), on caches with the parameters that kvconform draws. Prints the ops that were judged and the
 * processor time.
 */
#include <rapidcheck.h>
#include <rapidcheck/state.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "bench/checked.h"

namespace {

/* What drawing needs to know of the cache. */
struct Model {
    int32_t rows;
    int32_t length;
};

struct Cache {
    kvc_checked *checked;
};

kvc_op of_kind(kvc_op_kind kind)
{
    kvc_op op = {};
    op.kind = static_cast<uint8_t>(kind);
    return op;
}

/* Any op: what it does to the model is all that drawing looks at. */
class Step : public rc::state::Command<Model, Cache> {
public:
    explicit Step(const kvc_op &op) : op_(op) {}

    void checkPreconditions(const Model &model) const override
    {
        RC_PRE(op_.kind != KVC_REPEAT || model.rows * op_.n <= KVC_ROWS_MAX);
        for (int at = 0; at < op_.count; at++)
            RC_PRE(op_.rows[at] < model.rows);
        RC_PRE(op_.kind != KVC_REORDER || op_.count == model.rows);
    }

    void apply(Model &model) const override
    {
        if (op_.kind == KVC_APPEND)
            model.length += op_.n;
        else if (op_.kind == KVC_CROP && op_.n <= 0)
            model.length = model.length + op_.n > 0 ? model.length + op_.n : 0;
        else if (op_.kind == KVC_RESET)
            model.length = 0;
        else if (op_.kind == KVC_SELECT)
            model.rows = op_.count;
        else if (op_.kind == KVC_REPEAT)
            model.rows *= op_.n;
    }

    void run(const Model &, Cache &cache) const override { RC_ASSERT(kvc_checked_op(cache.checked, &op_) == 1); }

    void show(std::ostream &out) const override { out << "op " << int(op_.kind) << " n " << op_.n; }

private:
    kvc_op op_;
};

/* Uniform in low..high, whatever the size that RapidCheck has come to. */
int32_t between(int32_t low, int32_t high)
{
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}

kvc_op draw(const kvc_checked *checked, kvc_op_kind kind, const Model &model)
{
    kvc_op op = of_kind(kind);
    switch (kind) {
    case KVC_APPEND:
        op.n = kvc_checked_boundary(checked) > 0 ? between(1, 2 * kvc_checked_boundary(checked) + 2) : between(1, 8);
        break;
    case KVC_CROP:
        op.n = between(-model.length - 2, 1);
        break;
    case KVC_REORDER:
    case KVC_SELECT:
        op.count = static_cast<uint8_t>(kind == KVC_REORDER ? model.rows : between(1, model.rows));
        for (int at = 0; at < op.count; at++)
            op.rows[at] = static_cast<uint8_t>(between(0, model.rows - 1));
        break;
    case KVC_REPEAT:
        op.n = between(1, 3);
        break;
    case KVC_RECORD:
        op.n = between(0, 1);
        break;
    default:
        break;
    }
    return op;
}

/* The ops of these parameters, as often as kvconform draws them. */
rc::Gen<kvc_op_kind> kinds_of(const kvc_checked *checked)
{
    std::vector<kvc_op_kind> kinds;
    for (int kind = 0; kind <= KVC_PICKLE; kind++) {
        for (int times = kvc_checked_weight(checked, kind); times > 0; times--)
            kinds.push_back(static_cast<kvc_op_kind>(kind));
    }
    return rc::gen::elementOf(kinds);
}

/* One property: each case is a sequence, and so many of them as kvconform's blocks have share their parameters. */
bool check_all(kvc_checked *checked)
{
    uint64_t cases = 0;
    return rc::check([checked, &cases] {
        if (cases++ % KVC_CHECKED_BLOCK == 0)
            RC_ASSERT(kvc_checked_next(checked) == 1);
        const Model empty = {kvc_checked_rows(checked), 0};
        const auto kinds = kinds_of(checked);
        const auto steps = [=](const Model &model) {
            return rc::gen::exec([=] {
                const kvc_op op = draw(checked, *kinds, model);
                return std::shared_ptr<const rc::state::Command<Model, Cache>>(std::make_shared<Step>(op));
            });
        };
        const auto commands = *rc::state::gen::commands(empty, steps);
        Cache cache = {checked};
        RC_ASSERT(kvc_checked_begin(checked));
        rc::state::runAll(commands, empty, cache);
        kvc_checked_finish(checked);
    });
}

double processor_seconds()
{
    timespec time = {};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
}

} // namespace

int main(int argc, char **argv)
{
    const uint64_t cases = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 0;
    if (cases == 0) {
        std::fprintf(stderr, "usage: rapidcheck VARIANT SEED CASES\nexample: rapidcheck full 1 10000\n");
        return 2;
    }
    /* With this size a case has about six ops, as a sequence of kvconform. */
    (void)setenv("RC_PARAMS", ("seed=" + std::string(argv[2]) + " max_size=22 max_success=" + std::to_string(cases)).c_str(), 1);
    kvc_checked *checked = kvc_checked_open(argv[1], std::strtoull(argv[2], nullptr, 10), cases);
    if (checked == nullptr)
        return 1;
    const double begin = processor_seconds();
    const bool good = check_all(checked);
    if (good)
        std::printf("{\"ops\": %" PRIu64 ", \"seconds\": %.6f, \"cases\": %" PRIu64 "}\n", kvc_checked_ops(checked),
                    processor_seconds() - begin, cases);
    kvc_checked_close(checked);
    return good ? 0 : 1;
}
