// The header `Prefer` (RFC 7240). Parsed here: no maintained library parses it.
import type { FastifyReply } from 'fastify'

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

export function applyPreference(reply: FastifyReply, preference: string): void {
  const noted = reply.getHeader('preference-applied')
  reply.header('preference-applied', noted === undefined ? preference : `${noted}, ${preference}`)
}

/** Seconds of `wait=N`; undefined when absent or invalid. */
export function readWaitSeconds(header: string | string[] | undefined): number | undefined {
  const text = readPreferences(header).get('wait')
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined
}
