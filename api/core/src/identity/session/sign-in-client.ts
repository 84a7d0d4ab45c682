/** Where a request comes from, as the session and the login history show it. */
export type SignInClient = { readonly ipAddress: string | null; readonly userAgent: string | null }

/** As it is kept: what a client sends has no bound of its own. */
export const cutUserAgent = ({ userAgent }: SignInClient): string | null => userAgent?.slice(0, 512) ?? null
