// Format, size and alpha channel of an image, or the names in a ZIP, from their first or last bytes.

export type Head = {
  readonly format: 'png' | 'jpeg' | 'webp' | 'zip'
  readonly width?: number
  readonly height?: number
  readonly alpha?: boolean
  /** Files of a ZIP. */
  readonly names?: readonly string[]
}

/** Undefined for anything else, and for an image that ends before its size. */
export function readHead(bytes: Buffer): Head | undefined {
  try {
    if (bytes.subarray(0, 8).equals(pngSignature)) return readPng(bytes)
    if (bytes.readUInt16BE(0) === 0xffd8) return readJpeg(bytes)
    if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return readWebp(bytes)
    if (bytes.readUInt32LE(0) === 0x04034b50) return { format: 'zip', names: readZipNames(bytes) }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  return undefined
}

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

const readPng = (bytes: Buffer): Head => ({
  format: 'png',
  width: bytes.readUInt32BE(16),
  height: bytes.readUInt32BE(20),
  // Colour types 4 and 6 have a channel; a palette has its alpha in a separate chunk.
  alpha: [4, 6].includes(bytes.readUInt8(25)) || bytes.includes('tRNS', 33, 'latin1'),
})

/** Markers that start a frame, and so have its size. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

function readJpeg(bytes: Buffer): Head {
  let at = 2
  while (!isFrame(bytes.readUInt8(at + 1))) at += 2 + bytes.readUInt16BE(at + 2)
  return { format: 'jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5), alpha: false }
}

function readWebp(bytes: Buffer): Head {
  const kind = bytes.toString('latin1', 12, 16)
  if (kind === 'VP8X') {
    const alpha = (bytes.readUInt8(20) & 0x10) !== 0
    return { format: 'webp', width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1, alpha }
  }
  if (kind === 'VP8L') {
    const bits = bytes.readUInt32LE(21)
    const alpha = ((bits >>> 28) & 1) === 1
    return { format: 'webp', width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1, alpha }
  }
  const [width, height] = [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff]
  return { format: 'webp', width, height, alpha: false }
}

/** The directory at the end of a ZIP has every name. */
function readZipNames(bytes: Buffer): string[] {
  const end = bytes.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  if (end === -1) return []
  const names: string[] = []
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [nameLength, more, comment] = [28, 30, 32].map((offset) => bytes.readUInt16LE(at + offset))
    names.push(bytes.toString('utf8', at + 46, at + 46 + (nameLength ?? 0)))
    at += 46 + (nameLength ?? 0) + (more ?? 0) + (comment ?? 0)
  }
  return names
}
