// The part of a response's headers that is stored: bounded, and without the values of cookies.

const headersMax = 32
const bytesMax = 4_096

/** Headers with secrets of the receiver's own sessions. */
const cookieNames = new Set(['set-cookie', 'set-cookie2', 'cookie'])

/** The first headers within the bounds; a larger one is left out. Repeated headers are joined by commas. */
export function keepHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const kept: [string, string][] = []
  let bytes = 0
  for (const [name, value = ''] of Object.entries(headers)) {
    if (kept.length === headersMax) break
    const text = [value]
      .flat()
      .map(cookieNames.has(name) ? maskCookie : toStorable)
      .join(', ')
    const size = Buffer.byteLength(name) + Buffer.byteLength(text)
    if (bytes + size > bytesMax) continue
    bytes += size
    kept.push([name, text])
  }
  return Object.fromEntries(kept)
}

/** Keeps name and attributes. */
const maskCookie = (cookie: string): string =>
  cookie.includes('=') ? toStorable(cookie).replace(/^([^=;]*)(?:=[^;]*)?/, '$1=••••') : '••••'

/** PostgreSQL's jsonb rejects NUL. */
const toStorable = (text: string): string => text.replaceAll('\0', '\uFFFD')
