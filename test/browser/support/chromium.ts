/** Debian's Chromium, or the browser that the variable names. */
export const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium'
