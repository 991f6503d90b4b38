"""The body of an answer, read no further than a stated length: neither packed nor endless bodies fill the memory.

Requests ask for unpacked answers. A service that packs its answer all the same is unpacked here, piece by piece, as the
HTTP library's own unpacking makes a thousand bytes of one before anybody can count them.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable

import httpx

MOST_BYTES = 2_000_000  # of an answer, unpacked; a reply of a hundred thousand tokens has less
_ANY_ZLIB = 47  # gzip or zlib, whichever the header says
_PACKED = ("gzip", "x-gzip", "deflate")


class TooLong(httpx.StreamError):
    """An answer that is longer than any reply, or packed in a way that was not asked for."""


async def bounded(response: httpx.Response) -> None:
    """A hook for responses: from now on no more than :data:`MOST_BYTES` of this one can be read.

    Reading on raises :class:`TooLong`.
    """
    packed = response.headers.pop("content-encoding", "identity").strip().lower()
    assert isinstance(response.stream, httpx.AsyncByteStream)
    response.stream = _Bounded(response.stream, packed)


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, packed: str) -> None:
        self._stream, self._packed = stream, packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        unpacked = self._unpacker()
        async for piece in self._stream:
            plain = unpacked(piece, left + 1)
            left -= len(plain)
            if left < 0:
                raise TooLong(f"the answer is longer than {MOST_BYTES:,} bytes")
            yield plain

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _unpacker(self) -> Callable[[bytes, int], bytes]:
        """What makes at most so many plain bytes of a piece."""
        if self._packed in ("", "identity"):
            return lambda piece, _most: piece
        if self._packed not in _PACKED:
            raise TooLong(f"the answer is packed as {self._packed!a:.40}, which was not asked for")
        reader = zlib.decompressobj(_ANY_ZLIB)

        def unpack(piece: bytes, most: int) -> bytes:
            try:
                return reader.decompress(piece, most)
            except zlib.error:
                raise TooLong(f"the answer says that it is packed as {self._packed}, and is not") from None

        return unpack
