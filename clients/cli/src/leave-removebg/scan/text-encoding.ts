// The encodings of source files. Text is written back byte by byte, so each one must be read without a loss.
import { TextDecoder } from 'node:util'

export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'single-byte'
export type EncodedText = { readonly text: string; readonly encoding: TextEncoding }

/** Bytes that no text of one byte a character has: control characters without tab, line ends, form feed and escape. */
const isControl = (byte: number): boolean =>
  (byte < 0x20 && !(byte >= 9 && byte <= 13) && byte !== 0x1b) || byte === 0x7f

/** Undefined for bytes that are no text. UTF-16 is known by its byte order mark. */
export function decodeText(bytes: Buffer): EncodedText | undefined {
  if (bytes.length % 2 === 0 && bytes[0] === 0xff && bytes[1] === 0xfe) {
    return { text: bytes.toString('utf16le'), encoding: 'utf-16le' }
  }
  if (bytes.length % 2 === 0 && bytes[0] === 0xfe && bytes[1] === 0xff) {
    return { text: Buffer.from(bytes).swap16().toString('utf16le'), encoding: 'utf-16be' }
  }
  if (bytes.includes(0)) return undefined
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), encoding: 'utf-8' }
  } catch {
    return bytes.some(isControl) ? undefined : { text: bytes.toString('latin1'), encoding: 'single-byte' }
  }
}

export function encodeText({ text, encoding }: EncodedText): Buffer {
  switch (encoding) {
    case 'utf-8':
      return Buffer.from(text)
    case 'utf-16le':
      return Buffer.from(text, 'utf16le')
    case 'utf-16be':
      return Buffer.from(text, 'utf16le').swap16()
    case 'single-byte':
      return Buffer.from(text, 'latin1')
  }
}
