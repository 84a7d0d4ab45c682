import { type Source, sniffType } from '../source.ts'

export async function openBlob(blob: Blob, fileName = 'image'): Promise<Source> {
  const head = new Uint8Array(await blob.slice(0, 16).arrayBuffer())
  return {
    fileName: fileName || 'image',
    contentType: sniffType(head),
    sizeBytes: blob.size,
    stream: () => blob.stream(),
    blob: async () => blob,
    fingerprint: async () => hash(await blob.arrayBuffer()),
  }
}

/** SHA-256 in hexadecimal. */
export async function hash(bytes: ArrayBuffer | Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
