/** Roles of members; each route declares which may call it. */
export const roles = ['owner', 'admin', 'billing', 'member'] as const

export type Role = (typeof roles)[number]

/** Roles that may create API keys and keep them working. */
export const makesKeys = (role: Role): boolean => role === 'owner' || role === 'admin'
