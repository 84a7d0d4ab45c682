/** Attempts of one run, and milliseconds between them. */
export const maxAttempts = 5
export const attemptGapsMs = [1_000, 5_000, 15_000, 60_000] as const

/** Retries of a failed task by its caller. */
export const maxRetries = 3

/** Credits per image. */
export const creditCost = 1
