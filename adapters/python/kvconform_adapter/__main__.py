"""`python -m kvconform_adapter SUBJECT`: speak the adapter protocol on standard input and output."""

from __future__ import annotations

import sys

from kvconform_adapter.protocol import Channel, Subject, serve

USAGE = """\
usage: python -m kvconform_adapter SUBJECT
       python -m kvconform_adapter python MODULE:CLASS [--init JSON] [--spec FILE] [--like KIND]

Drives the caches of SUBJECT for kvconform: requests on standard input, replies on standard output (docs/protocol.md).

subjects:
  transformers    the cache layers of Hugging Face transformers 4.57 and newer; needs transformers and torch
  mlx-lm          the caches of mlx-lm 0.28.4 and newer; needs mlx-lm and mlx
  python          any class that holds keys and values (docs/python-classes.md)

example:
  echo '{"id": 0, "request": "hello", "protocol": 1}' | python -m kvconform_adapter transformers
"""


def transformers() -> Subject:
    """The subject, which imports its library."""
    from kvconform_adapter.transformers_subject import TransformersSubject  # noqa: PLC0415

    return TransformersSubject()


def mlx_lm() -> Subject:
    """The subject, which imports its library."""
    from kvconform_adapter.mlx_subject import MlxSubject  # noqa: PLC0415

    return MlxSubject()


SUBJECTS = {"transformers": transformers, "mlx-lm": mlx_lm}


def serve_class(words: list[str]) -> int:
    """Answers for one class. Returns the exit status."""
    from kvconform_adapter.any_main import any_subject  # noqa: PLC0415

    channel = Channel.take_standard_streams()
    subject = any_subject(words)
    if subject is None:
        sys.stderr.write(USAGE)
        return 2
    serve(channel, subject)
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 0 when the input ended, 2 for a wrong command line."""
    words = sys.argv[1:] if arguments is None else arguments
    if words in (["--help"], ["-h"]):
        sys.stdout.write(USAGE)
        return 0
    if words[:1] == ["python"]:
        return serve_class(words[1:])
    if len(words) != 1 or words[0] not in SUBJECTS:
        sys.stderr.write(USAGE)
        return 2
    # The protocol's own descriptors are taken out of the way first: whatever the subject prints while it is
    # imported must not land among the replies.
    channel = Channel.take_standard_streams()
    serve(channel, SUBJECTS[words[0]]())
    return 0


if __name__ == "__main__":
    sys.exit(main())
