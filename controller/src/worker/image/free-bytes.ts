/**
 * Gives the memory of these bytes back now and not when the collector comes to it; they are empty afterwards, as is
 * every other view of the same memory. Pixels lie outside the heap, but V8 counts them, and what is left to it makes it
 * mark the whole heap every dozen images. Nothing may still be reading them: no write to a socket, no work of sharp's.
 */
export function freeBytes(bytes: Uint8Array): void {
  // A small Buffer is a piece of a pool that others use.
  if (bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength > Buffer.poolSize) bytes.buffer.transfer(0)
}
