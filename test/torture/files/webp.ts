// WebP files with metadata, built from chunks.

const flags = { ICCP: 0x20, ALPH: 0x10, EXIF: 0x08, 'XMP ': 0x04 } as const

export type WebpExtras = {
  readonly profile?: Buffer
  readonly exif?: Buffer
  readonly xmp?: Buffer
  readonly hasAlpha?: boolean
  /** Canvas size in the header. */
  readonly canvas: { readonly width: number; readonly height: number }
}

/** Converts a simple file (lossy without alpha, or lossless) to the extended format. */
export function extendWebp(simple: Buffer, { profile, exif, xmp, hasAlpha = false, canvas }: WebpExtras): Buffer {
  const header = Buffer.alloc(10)
  const has = (flag: keyof typeof flags, body: unknown): number => (body ? flags[flag] : 0)
  header[0] = has('ICCP', profile) | has('EXIF', exif) | has('XMP ', xmp) | has('ALPH', hasAlpha)
  header.writeUIntLE(canvas.width - 1, 4, 3)
  header.writeUIntLE(canvas.height - 1, 7, 3)
  const body = Buffer.concat([
    Buffer.from('WEBP'),
    webpChunk('VP8X', header),
    ...(profile ? [webpChunk('ICCP', profile)] : []),
    simple.subarray(12),
    ...(exif ? [webpChunk('EXIF', exif)] : []),
    ...(xmp ? [webpChunk('XMP ', xmp)] : []),
  ])
  return webpChunk('RIFF', body)
}

function webpChunk(name: string, body: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.write(name, 0, 'latin1')
  head.writeUInt32LE(body.length, 4)
  return Buffer.concat([head, body, Buffer.alloc(body.length % 2)])
}
