import { removeDefinition } from './definition.ts'

export default removeDefinition
