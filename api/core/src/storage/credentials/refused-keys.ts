const refusalCodes = new Set(['ExpiredToken', 'InvalidToken', 'InvalidAccessKeyId', 'TokenRefreshRequired'])

/** Whether the store's error code says that it no longer takes temporary keys; new ones may work. */
export const refusesKeys = (code: string | undefined): boolean => code !== undefined && refusalCodes.has(code)
