"""Deterministic changes to files."""

import random
from collections.abc import Callable, Iterator, Sequence

from tests.fuzz_files.containers import PLAIN, Container

_TELLING = (
    *(b"\x00", b"\xff" * 8, b"\x7f\xff\xff\xff", b"9" * 400, b"9" * 5000),
    *(b"-1", b"NaN", b'"', b"[" * 3000, b"\\ud800", b",", b"\n"),
)
"""Bytes that are hard for readers: limits of numbers, quotation marks, nesting, half a character."""


def mutated(seeds: Sequence[bytes], n: int, container: Container, seed: int) -> Iterator[bytes]:
    """Yield `n` changed files: the types of change alternate; half of them are within parts with checksums."""
    generator = random.Random(seed)
    for number in range(n):
        data = seeds[number % len(seeds)]
        donor = seeds[generator.randrange(len(seeds))]
        change = _CHANGES[number % len(_CHANGES)]
        if container is PLAIN or number % 4 == 3:
            yield change(data, donor, generator)
            continue
        parts = container.take_apart(data)
        position = generator.randrange(len(parts))
        parts[position] = change(parts[position], generator.choice(container.take_apart(donor)), generator)
        yield container.put_together(data, parts)


def _cut(data: bytes, _: bytes, generator: random.Random) -> bytes:
    return data[: generator.randrange(len(data) + 1)]


def _flip(data: bytes, _: bytes, generator: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(generator.choice((1, 1, 2, 8))):
        if changed:
            changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
    return bytes(changed)


def _splice(data: bytes, other: bytes, generator: random.Random) -> bytes:
    return data[: generator.randrange(len(data) + 1)] + other[generator.randrange(len(other) + 1) :]


def _insert(data: bytes, _: bytes, generator: random.Random) -> bytes:
    position = generator.randrange(len(data) + 1)
    return data[:position] + generator.choice(_TELLING) + data[position + generator.choice((0, 0, 1, 4)) :]


def _repeat(data: bytes, _: bytes, generator: random.Random) -> bytes:
    start, end = sorted(generator.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:end] * generator.choice((1, 3, 40)) + data[end:]


def _overwrite(data: bytes, other: bytes, generator: random.Random) -> bytes:
    length = generator.choice((1, 2, 4, 8, 64))
    position = generator.randrange(len(data) + 1)
    new = generator.choice((generator.randbytes(length), other[:length], b"\x00" * length))
    return data[:position] + new + data[position + len(new) :]


_CHANGES: tuple[Callable[[bytes, bytes, random.Random], bytes], ...] = (
    _cut,
    _flip,
    _splice,
    _insert,
    _repeat,
    _flip,
    _overwrite,
)
