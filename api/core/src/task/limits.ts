/** Attempts of one run, and the pauses before the second to the fifth in milliseconds (D32). */
export const maxAttempts = 5
export const attemptGapsMs = [1_000, 5_000, 15_000, 60_000] as const

/** How often a caller may retry a failed task (D33). */
export const maxRetries = 3

/** One credit an image, whatever the plan holds (D7, D31). */
export const creditCost = 1
