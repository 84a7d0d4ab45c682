import { colourCases } from './colour-cases.ts'
import { damagedCases } from './damaged-cases.ts'
import { kindCases } from './kind-cases.ts'
import type { TortureCase } from './picture.ts'
import { pressCases } from './press-cases.ts'

/** The whole set: each file with what becomes of it. */
export const tortureCases: readonly TortureCase[] = [...kindCases, ...colourCases, ...pressCases, ...damagedCases]
