/** What a member may do in a workspace (D10); who may call what is said at each route. */
export const roles = ['owner', 'admin', 'billing', 'member'] as const

export type Role = (typeof roles)[number]

/** In these roles a member makes API keys, and keeps those that work (D11). */
export const makesKeys = (role: Role): boolean => role === 'owner' || role === 'admin'
