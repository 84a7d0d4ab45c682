/** Scopes of API keys; a key created without a list gets all. */
export const scopes = [
  'uploads:write',
  'tasks:read',
  'tasks:write',
  'batches:read',
  'batches:write',
  'webhooks:read',
  'webhooks:write',
  'webhooks:listen',
  'api-keys:read',
  'usage:read',
] as const

export type Scope = (typeof scopes)[number]
export const isScope = (text: string): text is Scope => (scopes as readonly string[]).includes(text)
