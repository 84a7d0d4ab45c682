import { cases } from './cases.ts'
import { defineCases } from './support/define-cases.ts'

defineCases('conformance', cases)
