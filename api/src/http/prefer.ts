// The header `Prefer` (RFC 7240): preferences joined by commas, a value perhaps quoted, parameters after a semicolon.
import type { FastifyReply } from 'fastify'

/** Preferences by their names in lower case; of one that is given twice the first holds. */
export function readPreferences(header: string | string[] | undefined): ReadonlyMap<string, string> {
  const preferences = new Map<string, string>()
  if (header === undefined) return preferences
  for (const part of String(header).split(',')) {
    const [name = '', value = ''] = (part.split(';')[0] ?? '').split('=').map((text) => text.trim())
    const key = name.toLowerCase()
    if (key !== '' && !preferences.has(key)) preferences.set(key, value.replace(/^"(.*)"$/, '$1').trim())
  }
  return preferences
}

/** Names a preference that was followed in the answer; several share the header. */
export function notePreference(reply: FastifyReply, preference: string): void {
  const noted = reply.getHeader('preference-applied')
  reply.header('preference-applied', noted === undefined ? preference : `${noted}, ${preference}`)
}

/** Seconds of `wait=N`; undefined when it was not asked for or cannot be used (D43). */
export function readWaitSeconds(header: string | string[] | undefined): number | undefined {
  const text = readPreferences(header).get('wait')
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined
}
