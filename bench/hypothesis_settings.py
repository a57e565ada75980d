"""What the Hypothesis state machines have in common."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

STEPS = 20
"""Most ops in one example; kvconform makes up to 20 as well, 6 on average."""


def settings_for(examples: int, **more: Any) -> settings:
    """At most so many examples, no time limits, and nothing kept from one run to the next."""
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        database=None,
        deadline=None,
        suppress_health_check=tuple(HealthCheck),
        **more,
    )
