/** Frees memory now, for all its views; V8 would mark the whole heap every dozen images. Nothing may still read it. */
export function freeBytes(bytes: Uint8Array): void {
  // Small Buffers share a pool.
  if (bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength > Buffer.poolSize) bytes.buffer.transfer(0)
}

/** Bytes with any contents, for a caller that writes them all: zeros would cost a pass over the image. */
export const takeBytes = (length: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.allocUnsafeSlow(length).buffer)
