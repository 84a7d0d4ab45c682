/** Equals the version of package.json, which a test compares. */
export const version = '0.2.0'
